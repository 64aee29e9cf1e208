#!lua name=evalsite_inference

-- Who drains a shard is decided here, where pushing and giving up cannot interleave.
--
-- KEYS of every function: the list of requests of a shard, and its leases (sorted set by expiry in
-- ms). A lease "<id>" is held by a running drainer; "ring:<id>" is a doorbell on its way to one.
-- As long as the list holds anything, there is a lease: who pushes onto a list without one is told
-- to ring, and a drainer gives its lease up only in a moment in which the list is empty.

local VERSION = 1
local MAX_BYTES = 16 * 1024 * 1024
local HIGHEST_LIMIT = 65536
local HIGHEST_LEASE_MS = 60000
-- A doorbell may wait behind other work. A lost one is found by the workers (inf_wake), so this
-- is long: while no worker runs, one doorbell per this time is all that piles up.
local RING_MS = 30000
-- Requests that one drainer is expected to cope with: beyond it another one is rung for.
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

-- args: request, limit, max_drainers.
-- Returns the lease to ring with, 0 when somebody drains, -1 when the list is full.
local function push(keys, args)
  local queue, leases, request = keys[1], keys[2], args[1]
  if #request > MAX_BYTES then
    return redis.error_reply('TOOLARGE a request of ' .. #request .. ' bytes')
  end
  local waiting = redis.call('LLEN', queue)
  if waiting >= math.min(tonumber(args[2]), HIGHEST_LIMIT) then
    return -1
  end
  redis.call('RPUSH', queue, request)
  local now = now_ms()
  local held, rung = present(leases, now)
  local is_behind = waiting >= BACKLOG * held and held < tonumber(args[3])
  if rung == 0 and (held == 0 or is_behind) then
    return ring(leases, now)
  end
  return 0
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

-- args: patience_ms. Asked by workers that have nothing to do.
-- Returns a lease to ring with when something waits, nobody drains and the last doorbell has not
-- been answered for patience_ms: it is lost. Else 0.
local function wake(keys, args)
  if redis.call('LLEN', keys[1]) == 0 then
    return 0
  end
  local now = now_ms()
  local held, rung, rung_at = present(keys[2], now)
  if held > 0 or (rung > 0 and now - rung_at < tonumber(args[1])) then
    return 0
  end
  redis.call('DEL', keys[2])
  return ring(keys[2], now)
end

redis.register_function('inf_push', push)
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
