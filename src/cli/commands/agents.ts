import { defineCommand } from '../command.ts'
import { workFlags } from './run.ts'

const json = { type: 'boolean', says: 'Print JSON' } as const
const outcome = {
  type: 'boolean',
  says: 'One JSON object on stdout: { agentId, status, answer, pending }; nobody is asked',
} as const
const attachments = {
  file: { type: 'string', value: 'path', says: 'A picture or a PDF to look at' },
  attach: { type: 'string', multiple: true, value: 'wiki/page', says: 'A page of a wiki to read with it' },
} as const
const full = { type: 'boolean', says: 'With all of what tools were given and answered' } as const

const list = defineCommand({
  name: 'list',
  summary: 'List your agents: what they do, what they wait for, when they wake',
  flags: { all: { type: 'boolean', short: 'a', says: 'Closed ones and sub-agents too' }, json },
  examples: [
    { line: 'libero agents', says: 'Those you can speak to, the latest on top' },
    { line: 'libero agents --json | jq -r .[].id', says: 'Their ids, for a script' },
  ],
  run: async (given, io) => (await import('../agents/list.ts')).list(given, io),
})

const definitions = defineCommand({
  name: 'definitions',
  summary: 'List what agents can be made of, and where each definition comes from',
  details: [
    'assistant and librarian come with Libero. Your own are JSON files in ~/.libero/agents: { "id": "scout", "config": { "prompts": […], "plugins": […] } }. A file that cannot be used is named with what is wrong. Definitions in a project are not read: they would be somebody else’s words and rules.',
  ],
  flags: { json },
  examples: [{ line: 'libero agents definitions --json', says: 'All that they say, for copying' }],
  run: async (given, io) => (await import('../agents/definitions.ts')).definitions(given, io),
})

const create = defineCommand({
  name: 'new',
  summary: 'Make an agent, print its id, and tell it something',
  words: '<definition> [message]',
  details: ['With a message it goes to work at once, as with libero agents send.'],
  flags: {
    name: { type: 'string', short: 'n', value: 'text', says: 'What it is called' },
    ...attachments,
    ...workFlags,
    json: outcome,
  },
  examples: [
    { line: 'libero agents new assistant "remind me in 10 minutes to stretch"', says: 'Makes it, and tells it' },
    { line: 'id=$(libero agents new librarian --name notes)', says: 'Only makes it' },
  ],
  run: async (given, io) => (await import('../agents/send.ts')).create(given, io),
})

const send = defineCommand({
  name: 'send',
  summary: 'Say something to an agent, and see it work',
  words: '<agent> [message]',
  details: [
    'The answer goes to stdout, everything else to stderr; what is piped in is added to the message. Where it asks you something, or needs a permission, you are asked at the terminal. Without one it ends with exit code 3 and waits: libero agents answer goes on. What is said while it waits takes the place of an answer. Ctrl-C stops it, and it ends with 130; at a question, it only leaves, and the question stays.',
  ],
  flags: { ...attachments, ...workFlags, json: outcome },
  examples: [
    { line: 'libero agents send bafitu "what is on my list?"', says: 'The beginning of an id is enough' },
    { line: 'libero agents send notes "what does this say?" --attach "notes/Plans"', says: 'With a page of a wiki' },
  ],
  run: async (given, io) => (await import('../agents/send.ts')).send(given, io),
})

const { allow: _, deny: __, ...answerFlags } = workFlags

const answer = defineCommand({
  name: 'answer',
  summary: 'Say what an agent waits for, or answer it, and let it go on',
  words: '<agent> [call] [answer]',
  details: [
    'A question is answered in words, or by the label of an option; a permission by --allow or --deny, for this once. A call is allowed in the folder that it is to run in, which is named with it; denied it is anywhere. Where several things wait, the call says which is meant. An answer of several words stands in quotes. Without an answer you are asked at the terminal; where there is none, this shows what waits.',
  ],
  flags: {
    allow: { type: 'boolean', says: 'Let it do what it wants to do' },
    deny: { type: 'boolean', says: 'Do not' },
    note: { type: 'string', value: 'text', says: 'What the model is told with it' },
    ...answerFlags,
    json: outcome,
  },
  examples: [
    { line: 'libero agents answer bafitu "the blue one"', says: 'Answers its question' },
    { line: 'libero agents answer bafitu --deny --note "ask me tomorrow"', says: 'Refuses, and says why' },
  ],
  run: async (given, io) => (await import('../agents/answer.ts')).answer(given, io),
})

const show = defineCommand({
  name: 'show',
  summary: 'Show what was said to and by an agent or a sub-agent',
  words: '<agent>',
  maxWords: 1,
  flags: { full, json },
  examples: [{ line: 'libero agents show bafitu', says: 'All of it, once' }],
  run: async (given, io) => (await import('../agents/show.ts')).show(given, io),
})

const watch = defineCommand({
  name: 'watch',
  summary: 'Show what was said, and follow an agent until Ctrl-C, whoever lets it work',
  words: '<agent>',
  maxWords: 1,
  flags: { full, json: { type: 'boolean', says: 'Each message as a line of JSON, again whenever it changes' } },
  examples: [{ line: 'libero agents watch bafitu', says: 'While libero schedules run wakes it elsewhere' }],
  run: async (given, io) => (await import('../agents/watch.ts')).watchAgent(given, io),
})

const yes = { type: 'boolean', short: 'y', says: 'Without asking; needed where there is no terminal' } as const

const cancel = defineCommand({
  name: 'cancel',
  summary: 'Stop what an agent does, wherever it works, and deny what it waits for',
  words: '<agent>',
  maxWords: 1,
  details: ['What was said stays, and it can be spoken to again. Its schedules go on.'],
  examples: [{ line: 'libero agents cancel bafitu', says: 'Also where libero schedules run lets it work' }],
  run: async (given, io) => (await import('../agents/close.ts')).cancel(given, io),
})

const rewind = defineCommand({
  name: 'rewind',
  summary: 'Take a message back, with all that came after it, to say it in other words',
  words: '<agent> [message]',
  maxWords: 2,
  details: [
    'The message is the last one that was said to the agent, or the one you name: libero agents show has the names behind the dates, and the beginning of an id is enough. What it said goes to stdout. Files stay as they are; libero agents rollback puts those back.',
  ],
  flags: { yes, json: { type: 'boolean', says: 'One JSON object: { agentId, messageId, content, removed }' } },
  examples: [
    { line: 'libero agents rewind bafitu', says: 'Asks, and takes back the last message' },
    { line: 'libero agents rewind bafitu 3f2a1b-7 --yes > said.txt', says: 'To edit it and send it again' },
  ],
  run: async (given, io) => (await import('../agents/rewind.ts')).rewind(given, io),
})

const rollback = defineCommand({
  name: 'rollback',
  summary: 'Put files back to what they were before a message to an agent',
  words: '<agent> [message]',
  maxWords: 2,
  details: [
    'Undoes what changed in this folder while the agent worked on that message and on those after it; what was said stays. What somebody else changed since is kept, and named. Run it in the folder where the agent worked.',
    'Files are kept in a git repository, as git objects beside its branches, before and after each message, once one of your definitions can change files: it has the plugin zx-script, or MCP servers, those of your settings included. That takes some tenths of a second for each message in a repository of some thousand files. Without such a definition, or outside of a repository, nothing is kept and nothing is slower.',
  ],
  flags: {
    plan: { type: 'boolean', says: 'Only say what would be done' },
    force: { type: 'boolean', says: 'Also what somebody changed since, and where the work was cut off' },
    undo: { type: 'boolean', says: 'Take a rollback back, with what --force overwrote' },
    yes,
    json: { type: 'boolean', says: 'One JSON object: what was restored and deleted, conflicts, what failed' },
  },
  examples: [
    { line: 'libero agents rollback bafitu --plan', says: 'What the last message did to files' },
    { line: 'libero agents rollback bafitu 3f2a1b-7', says: 'Asks, and goes back to before that message' },
  ],
  run: async (given, io) => (await import('../agents/rollback.ts')).rollback(given, io),
})

const close = defineCommand({
  name: 'close',
  summary: 'Close agents: they are not woken any more, and what they said stays',
  words: '<agent>…',
  details: ['One that is at work, in another program too, is stopped first.'],
  examples: [{ line: 'libero agents close bafitu', says: 'Its schedules are removed, too' }],
  run: async (given, io) => (await import('../agents/close.ts')).close(given, io),
})

const remove = defineCommand({
  name: 'delete',
  summary: 'Delete agents, with all that was said',
  words: '<agent>…',
  details: ['One that is at work, in another program too, is stopped first.'],
  flags: { yes },
  examples: [{ line: 'libero agents delete bafitu', says: 'Asks, and deletes it' }],
  run: async (given, io) => (await import('../agents/close.ts')).remove(given, io),
})

export const command = defineCommand({
  name: 'agents',
  summary: 'Make agents that stay, speak to them, answer them, watch them',
  details: [
    'An agent is a conversation that stays: made of a definition, spoken to from anywhere, woken by schedules (libero schedules). It is named by its id, a beginning of it that no other has, or its name. Agents are yours and not a folder’s: your settings hold for them as for libero run, and those of a project do not; their tools and words are those of their definitions. They work in the wikis that "wikis" in the config names: libero config set wikis.notes \'{"folder": "~/notes"}\'.',
  ],
  examples: [
    { line: 'libero agents new assistant "remind me in 10 minutes to stretch"', says: 'Makes one and tells it' },
    { line: 'libero agents', says: 'What they do and wait for' },
    { line: 'libero agents send bafitu "thank you"', says: 'Goes on with it' },
  ],
  commands: [list, definitions, create, send, answer, show, watch, cancel, rewind, rollback, close, remove],
  defaultCommand: 'list',
})
