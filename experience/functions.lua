#!lua name=evalsite_experience
-- What the stream server runs in one step. A server that is out of memory refuses the call before
-- it begins: either all of it happens or nothing, also when it is killed (one entry of its log).

-- KEYS: stream of a game, id of a chunk, counter of its user. ARGV: chunk, user, its steps, most
-- steps of the user (0: any number), seconds to keep the id, seconds to keep the counter.
local function xp_add(keys, argv)
  local stream, seen, used = keys[1], keys[2], keys[3]
  local chunk, user, n, most = argv[1], argv[2], tonumber(argv[3]), tonumber(argv[4])
  local owner = redis.call('GET', seen)
  if owner then
    if owner == user then return {'duplicate', ''} end
    return {'foreign', ''}
  end
  local before = tonumber(redis.call('GET', used) or '0')
  if most > 0 and before + n > most then return {'quota', tostring(before)} end
  local id = redis.call('XADD', stream, '*', 'chunk', chunk, 'user', user, 'n', argv[3])
  redis.call('SET', seen, user, 'NX', 'EX', argv[5])
  redis.call('INCRBY', used, n)
  redis.call('EXPIRE', used, argv[6])
  return {'added', id}
end

redis.register_function('xp_add', xp_add)
