#!lua name=evalsite_inference

-- Who drains a shard is decided here; only gpu workers may call these functions.
--
-- KEYS of every function: the list of requests of a shard, and its leases (sorted set by expiry in
-- ms). A lease "<id>" is held by a running drainer; "ring:<id>" is a doorbell of a gpu worker on
-- its way to another. Players push by a plain RPUSH and look at the leases after it: a drainer
-- gives its lease up only in a moment in which the list is empty, so who sees no lease after its
-- push must ring. They write none: their doorbells may come twice, and begin() sorts that out.

local VERSION = 2
local HIGHEST_LEASE_MS = 60000
-- A doorbell may wait behind other work. A lost one is found by the workers (inf_wake), so this
-- is long: while no worker runs, one doorbell per this time is all that piles up.
local RING_MS = 30000
-- Requests that one drainer is expected to cope with: beyond it an idle worker lends a hand.
local BACKLOG = 256

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + time[2] / 1000
end

local function text(number)
  return string.format('%.3f', number)
end

-- Return the numbers of leases held and of doorbells under way, and when the last of them was rung.
local function present(leases, now)
  redis.call('ZREMRANGEBYSCORE', leases, '-inf', text(now))
  local held, rung, rung_at = 0, 0, 0
  local found = redis.call('ZRANGE', leases, 0, -1, 'WITHSCORES')
  for index = 1, #found, 2 do
    if string.sub(found[index], 1, 5) == 'ring:' then
      rung = rung + 1
      rung_at = math.max(rung_at, tonumber(found[index + 1]) - RING_MS)
    else
      held = held + 1
    end
  end
  return held, rung, rung_at
end

local function ring(leases, now)
  local lease = string.format('%.0f', now * 1000)
  redis.call('ZADD', leases, text(now + RING_MS), 'ring:' .. lease)
  return lease
end

local function hold(leases, lease, lease_ms, now)
  local until_ms = now + math.min(tonumber(lease_ms), HIGHEST_LEASE_MS)
  redis.call('ZADD', leases, text(until_ms), lease)
end

-- args: lease, lease_ms. A drainer answers a doorbell.
-- Returns 1 and the time when it holds the lease now, 0 and the time when there is nothing to do.
local function begin(keys, args)
  local queue, leases, lease = keys[1], keys[2], args[1]
  local now = now_ms()
  local held = present(leases, now)
  local is_due = redis.call('ZREM', leases, 'ring:' .. lease) == 1
  -- A doorbell that is too late serves only where nobody else does.
  if not is_due and (held > 0 or redis.call('LLEN', queue) == 0) then
    return {0, text(now)}
  end
  hold(leases, lease, args[2], now)
  return {1, text(now)}
end

-- args: lease, lease_ms. Keeps the lease, or takes it again if it had expired.
local function extend(keys, args)
  redis.call('ZREM', keys[2], args[1])
  hold(keys[2], args[1], args[2], now_ms())
  return 1
end

-- args: lease. Gives the lease up if nothing waits. Returns 1 when it is given up, else 0.
local function finish(keys, args)
  if redis.call('LLEN', keys[1]) > 0 then
    return 0
  end
  redis.call('ZREM', keys[2], args[1])
  return 1
end

-- args: lease. Hands the lease to the doorbell that its drainer publishes next.
local function pass(keys, args)
  redis.call('ZREM', keys[2], args[1])
  redis.call('ZADD', keys[2], text(now_ms() + RING_MS), 'ring:' .. args[1])
  return 1
end

-- args: patience_ms, max_drainers. Asked by workers that have nothing to do.
-- Returns a lease to ring with when something waits and nobody drains, or more waits than those who
-- do can take; 0 while a doorbell is under way that is younger than patience_ms: else it is lost.
local function wake(keys, args)
  local waiting = redis.call('LLEN', keys[1])
  if waiting == 0 then
    return 0
  end
  local now = now_ms()
  local held, rung, rung_at = present(keys[2], now)
  local is_enough = held > 0 and (waiting < BACKLOG * held or held >= tonumber(args[2]))
  if is_enough or (rung > 0 and now - rung_at < tonumber(args[1])) then
    return 0
  end
  if held == 0 then
    redis.call('DEL', keys[2])
  end
  return ring(keys[2], now)
end

redis.register_function('inf_begin', begin)
redis.register_function('inf_extend', extend)
redis.register_function('inf_finish', finish)
redis.register_function('inf_pass', pass)
redis.register_function('inf_wake', wake)
redis.register_function{
  function_name = 'inf_version',
  callback = function() return VERSION end,
  flags = {'no-writes', 'allow-oom'},
}
