-- Answers the commands of all verbs that the user may not use on KEYS, and does nothing. A user who may not have KEYS at
-- all does not come so far. A server older than 7 cannot be asked.

local denied = {}
if not redis.acl_check_cmd then
    return denied
end

local function ask(...)
    if not redis.acl_check_cmd(...) then
        denied[#denied + 1] = table.concat({...}, ' ', 1, math.min(2, select('#', ...)))
    end
end

ask('TIME')
ask('INFO', 'server')
for _, key in ipairs(KEYS) do
    ask('HGET', key, 'f')
    ask('HMGET', key, 'f')
    ask('HSET', key, 'f', '')
    ask('PEXPIRE', key, 1)
end
return denied
