// What the server does in one step: Lua that it runs while nobody else is served.
#pragma once

#include <string_view>

namespace strand::connect::valkey {

// Names: `strandline:attempts:JOB` (generation -> attempt, `closed` when it has stopped),
// `strandline:writers:TABLE` (writer -> job), `strandline:deletes:TABLE` (writer -> epoch of the newest
// deletion), `strandline:index:TABLE:WRITER` (the rows in which the writer has a tag, by epoch),
// `strandline:session:...` (a connection that may write). A row is a hash: its key columns, the columns of
// each writer, and beside them the writer's tag.

/// Arguments: writers' key, writer, job. Answers the job to which the writer belongs.
inline constexpr std::string_view kTakeWriter = R"(
redis.call('HSETNX', ARGV[1], ARGV[2], ARGV[3])
return redis.call('HGET', ARGV[1], ARGV[2]))";

/// Arguments: session, the one before it. What is still under way from the connection before is refused when
/// it arrives.
inline constexpr std::string_view kBeginSession = R"(
if ARGV[2] ~= '' then redis.call('DEL', ARGV[2]) end
redis.call('SET', ARGV[1], '1', 'EX', 86400)
return 1)";

/// Arguments: attempts' key, generation, attempt, whether older generations run ('1'). Answers what stands
/// for the generation.
inline constexpr std::string_view kClaim = R"(
local found = redis.call('HGET', ARGV[1], ARGV[2])
if found and (found == 'closed' or tonumber(found) > tonumber(ARGV[3])) then return found end
redis.call('HSET', ARGV[1], ARGV[2], ARGV[3])
if ARGV[4] ~= '1' then
  for _, generation in ipairs(redis.call('HKEYS', ARGV[1])) do
    if tonumber(generation) < tonumber(ARGV[2]) then redis.call('HSET', ARGV[1], generation, 'closed') end
  end
end
return ARGV[3])";

/// Arguments: session, attempts' key, index, deletes' key, generation, attempt, writer, closed epoch or '',
/// whether the writer owns rows ('1'), the steps of D ('g a lowest ...'), how many key columns and values,
/// their names; then for each request: kind (p, d, w, m), row's key, epoch, generation, attempt, index entry,
/// expected tag ('', 'none' or 'g a e'), key columns, values ('+text' or '-').
///
/// Answers one letter for each: W written, C closed, H higher, X changed; or 'session', 'fenced ATTEMPT'.
inline constexpr std::string_view kApply = R"(
local session, attempts, index, deletes = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local generation, attempt, writer, closed = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8])
if redis.call('EXPIRE', session, 86400) == 0 then return 'session' end
local owner = redis.call('HGET', attempts, ARGV[5])
if owner and (owner == 'closed' or tonumber(owner) > attempt) then return 'fenced ' .. owner end

local steps = {}
for number in string.gmatch(ARGV[10], '%S+') do steps[#steps + 1] = tonumber(number) end
local keys, values = tonumber(ARGV[11]), tonumber(ARGV[12])
local at = 13
local key_names, value_names, own = {}, {}, {}
for i = 1, keys do key_names[i] = ARGV[at]; at = at + 1 end
for i = 1, values do value_names[i] = ARGV[at]; own[#own + 1] = ARGV[at]; at = at + 1 end
local gen, att, ckpt, ix = writer .. '_gen', writer .. '_attempt', writer .. '_ckpt', writer .. '_ix'
for _, name in ipairs({gen, att, ckpt, ix}) do own[#own + 1] = name end

local function higher(g, a, other_g, other_a) return g > other_g or (g == other_g and a > other_a) end

local function stored_tag(row)
  local found = redis.call('HMGET', row, gen, att, ckpt)
  if not found[1] then return nil end
  return {g = tonumber(found[1]), a = tonumber(found[2]), e = tonumber(found[3])}
end

local function dead(tag)
  for i = 1, #steps, 3 do
    if higher(steps[i], steps[i + 1], tag.g, tag.a) then return steps[i + 2] <= tag.e end
  end
  return false
end

local function put(row, first, g, a, e, entry)
  local set, gone = {}, {}
  for i = 1, keys do set[#set + 1] = key_names[i]; set[#set + 1] = ARGV[first + i] end
  for i = 1, values do
    local value = ARGV[first + keys + i]
    if string.sub(value, 1, 1) == '+' then
      set[#set + 1] = value_names[i]; set[#set + 1] = string.sub(value, 2)
    else
      gone[#gone + 1] = value_names[i]
    end
  end
  local job_gen = tonumber(redis.call('HGET', row, 'job_gen') or '0')
  for _, part in ipairs({gen, g, att, a, ckpt, e, ix, entry, 'job_gen', tostring(math.max(job_gen, tonumber(g)))}) do
    set[#set + 1] = part
  end
  redis.call('HSET', row, unpack(set))
  if #gone > 0 then redis.call('HDEL', row, unpack(gone)) end
  redis.call('ZADD', index, e, row)
end

local function remove(row)
  redis.call('HDEL', row, unpack(own))
  redis.call('ZREM', index, row)
  if ARGV[9] ~= '1' then return end
  local known = {job_gen = true}
  for i = 1, keys do known[key_names[i]] = true end
  for _, name in ipairs(redis.call('HKEYS', row)) do
    if not known[name] then return end
  end
  redis.call('DEL', row)
end

local function same(tag, expected)
  if expected == 'none' then return tag == nil end
  return tag ~= nil and expected == string.format('%d %d %d', tag.g, tag.a, tag.e)
end

local function decide(kind, tag, g, a, expected)
  if kind == 'w' or kind == 'm' then return same(tag, expected) and 'W' or 'X' end
  if tag == nil then return 'W' end
  if higher(tag.g, tag.a, g, a) then return 'H' end
  if closed and tag.e < closed and (tag.g ~= g or tag.a ~= a) and not dead(tag) then return 'C' end
  return 'W'
end

local answers = {}
local last_delete = -1
while at <= #ARGV do
  local kind, row, e, g, a, entry, expected = unpack(ARGV, at, at + 6)
  local tag = stored_tag(row)
  local answer = decide(kind, tag, tonumber(g), tonumber(a), expected)
  if kind == 'd' then last_delete = math.max(last_delete, tonumber(e)) end
  if answer == 'W' then
    if kind == 'p' or kind == 'w' then
      put(row, at + 6, g, a, e, entry)
    elseif tag ~= nil then
      remove(row)
    end
  end
  answers[#answers + 1] = answer
  at = at + 7 + keys + values
end
if last_delete > tonumber(redis.call('HGET', deletes, writer) or '-1') then
  redis.call('HSET', deletes, writer, string.format('%d', last_delete))
end
return table.concat(answers))";

/// Arguments: index, writer, rows' keys. Answers generation, attempt, epoch and index entry of each, four
/// times nil where the writer has no tag any more; such rows leave the index.
inline constexpr std::string_view kTags = R"(
local found = {}
local writer = ARGV[2]
for i = 3, #ARGV do
  local tag = redis.call('HMGET', ARGV[i], writer .. '_gen', writer .. '_attempt', writer .. '_ckpt', writer .. '_ix')
  if not tag[1] then redis.call('ZREM', ARGV[1], ARGV[i]) end
  for part = 1, 4 do found[#found + 1] = tag[part] end
end
return found)";

}  // namespace strand::connect::valkey
