-- Goes before every verb. KEYS[1] is the epoch's hash, KEYS[2] the lease's; what a verb does to keys is
-- seaspider/core/politeness.py. All times are in us of the server's clock, all durations in us.
--
-- An epoch is a time in which the server ran without a break and its clock was right: it begins anew with another
-- run_id, where there was none, and where the clock went back. A key of an earlier epoch rests its full recorded pause
-- from the beginning of the present one, and its holder is forgotten; no claim is given before every request of an
-- earlier epoch must be over.

local EPOCH, LEASE = KEYS[1], KEYS[2]
local SECOND = 1000000
-- Kept for so long when nobody could mind it: a clock that goes astray must not make the server forget a pause.
local KEPT = 3600 * SECOND
local KEPT_IF_HELD = 86400 * SECOND

local time = redis.call('TIME')
local now = tonumber(time[1]) * SECOND + tonumber(time[2])

local function text(number)
    return string.format('%.0f', number)
end

-- When it began, and the longest hold of the claims before it. `over`: began an epoch that is not to be trusted.
local function epoch(over)
    local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
    local found = redis.call('HMGET', EPOCH, 'run_id', 'began', 'hold', 'earlier', 'latest')
    local began, hold, earlier = found[2], tonumber(found[3] or 0), tonumber(found[4] or 0)
    if found[1] == run_id and began ~= over and now >= tonumber(found[5]) - SECOND then
        return tonumber(began), earlier
    end
    earlier = math.max(hold, earlier)
    redis.call('HSET', EPOCH, 'run_id', run_id, 'began', text(now), 'hold', 0, 'earlier', text(earlier),
        'latest', text(now))
    return now, earlier
end

local function load_key(key, began)
    local found = redis.call('HMGET', key, 'epoch', 'rest', 'lapse', 'token', 'pause')
    if not found[1] then
        return nil
    end
    local pause = tonumber(found[5])
    if found[1] ~= text(began) then
        return {rest = began + pause, lapse = 0, token = '', pause = pause}
    end
    return {rest = tonumber(found[2]), lapse = tonumber(found[3]), token = found[4], pause = pause}
end

local function save_key(key, began, state)
    redis.call('HSET', key, 'epoch', text(began), 'rest', text(state.rest), 'lapse', text(state.lapse),
        'token', state.token, 'pause', text(state.pause))
    local kept = state.token == '' and KEPT or KEPT_IF_HELD
    redis.call('PEXPIRE', key, text(math.ceil((math.max(state.rest, state.lapse) - now + kept) / 1000)))
end
