import { defineCommand, editsFlag } from '../command.ts'
import { workFlags } from './run.ts'

const json = { type: 'boolean', says: 'Print JSON' } as const
const outcome = {
  type: 'boolean',
  says: 'Print one JSON object, { agentId, status, answer, pending }, and ask no questions',
} as const
const attachments = {
  file: { type: 'string', value: 'path', says: 'An image or a PDF to attach' },
  attach: { type: 'string', multiple: true, value: 'wiki/page', says: 'A wiki page to attach' },
} as const
const full = { type: 'boolean', says: 'Show arguments and results of tools in full' } as const

const list = defineCommand({
  name: 'list',
  summary: 'List your agents with their status, open questions and next wake-up',
  flags: {
    all: { type: 'boolean', short: 'a', says: 'Include closed agents and sub-agents' },
    limit: { type: 'string', short: 'n', value: 'n', min: 1, says: 'At most this many (default 50, at most 1000)' },
    cursor: { type: 'string', value: 'next', says: 'The page after the one with this "next"' },
    json,
  },
  examples: [
    { line: 'libero agents', says: 'Open agents, the latest first' },
    { line: 'libero agents --json | jq -r .agents[].id', says: 'Their ids, for a script' },
  ],
  run: async (given, io) => (await import('../agents/list.ts')).list(given, io),
})

const definitions = defineCommand({
  name: 'definitions',
  summary: 'List the definitions of agents, and where each comes from',
  details: [
    'assistant and librarian are built in. Your own definitions are JSON files in ~/.libero/agents: { "id": "scout", "config": { "prompts": […], "plugins": […] } }. Files that cannot be used are listed with the reason. Definitions in a project are not read, because other people wrote them.',
  ],
  flags: { json },
  examples: [{ line: 'libero agents definitions --json', says: 'The complete definitions, to copy from' }],
  run: async (given, io) => (await import('../agents/definitions.ts')).definitions(given, io),
})

const create = defineCommand({
  name: 'new',
  summary: 'Create an agent, print its id, and send it a message',
  words: '<definition> [message]',
  details: ['With a message the agent starts to work at once, as with libero agents send.'],
  flags: {
    name: { type: 'string', short: 'n', value: 'text', says: 'The name of the agent' },
    ...attachments,
    ...workFlags,
    json: outcome,
  },
  examples: [
    {
      line: 'libero agents new assistant "remind me in 10 minutes to stretch"',
      says: 'Creates it and sends the message',
    },
    { line: 'id=$(libero agents new librarian --name notes)', says: 'Only creates it' },
  ],
  run: async (given, io) => (await import('../agents/send.ts')).create(given, io),
})

const send = defineCommand({
  name: 'send',
  summary: 'Send a message to an agent, and watch it work',
  words: '<agent> [message]',
  details: [
    'The answer goes to stdout, everything else to stderr; piped input is added to the message. At the terminal you answer its questions and decide about calls that need an approval. Without a terminal the command ends with exit code 3 and the agent waits; continue with libero agents answer. A message sent while the agent waits replaces the answer. Ctrl-C stops the agent (exit code 130); at a question it only leaves the command, and the question stays open.',
  ],
  flags: { ...attachments, ...workFlags, json: outcome },
  examples: [
    { line: 'libero agents send bafitu "what is on my list?"', says: 'The beginning of an id is enough' },
    { line: 'libero agents send notes "what does this say?" --attach "notes/Plans"', says: 'With a wiki page' },
  ],
  run: async (given, io) => (await import('../agents/send.ts')).send(given, io),
})

const { allow: _, deny: __, ...answerFlags } = workFlags

const answer = defineCommand({
  name: 'answer',
  summary: 'Show what an agent waits for, or answer it and let it continue',
  words: '<agent> [call] [answer]',
  details: [
    'Answer a question with text or with the label of an option; answer a call that needs an approval with --allow or --deny, which apply to this one call; with --scope an approval also covers the calls that the question names. Allow a call in the folder in which it is to run, which is shown with it; deny it anywhere. If several calls wait, name the one you mean. Quote an answer of several words. Without an answer you are asked at the terminal; without a terminal this command shows what waits.',
  ],
  flags: {
    allow: { type: 'boolean', says: 'Allow the call' },
    deny: { type: 'boolean', says: 'Deny the call' },
    note: { type: 'string', value: 'text', says: 'A note to the model with the answer' },
    scope: {
      type: 'string',
      value: 'how long',
      choices: ['session', 'project'],
      says: 'Allow what the question offers for this long; default: this one call',
    },
    edits: editsFlag,
    ...answerFlags,
    json: outcome,
  },
  examples: [
    { line: 'libero agents answer bafitu "the blue one"', says: 'Answers its question' },
    { line: 'libero agents answer bafitu --deny --note "ask me tomorrow"', says: 'Denies it, with a reason' },
  ],
  run: async (given, io) => (await import('../agents/answer.ts')).answer(given, io),
})

const show = defineCommand({
  name: 'show',
  summary: 'Show the conversation of an agent or a sub-agent',
  words: '<agent>',
  maxWords: 1,
  flags: { full, json },
  examples: [{ line: 'libero agents show bafitu', says: 'The conversation so far' }],
  run: async (given, io) => (await import('../agents/show.ts')).show(given, io),
})

const watch = defineCommand({
  name: 'watch',
  summary: 'Show the conversation of an agent, and follow it until Ctrl-C, in whichever process it runs',
  words: '<agent>',
  maxWords: 1,
  flags: { full, json: { type: 'boolean', says: 'Print each message as a line of JSON, again whenever it changes' } },
  examples: [{ line: 'libero agents watch bafitu', says: 'While libero schedules run wakes it elsewhere' }],
  run: async (given, io) => (await import('../agents/watch.ts')).watchAgent(given, io),
})

const yes = { type: 'boolean', short: 'y', says: 'Do not ask for confirmation; required without a terminal' } as const

const cancel = defineCommand({
  name: 'cancel',
  summary: 'Stop an agent, in whichever process it runs, and deny what it waits for',
  words: '<agent>',
  maxWords: 1,
  details: ['The conversation is kept, and the agent accepts new messages. Its schedules stay active.'],
  examples: [{ line: 'libero agents cancel bafitu', says: 'Also if it runs in libero schedules run' }],
  run: async (given, io) => (await import('../agents/close.ts')).cancel(given, io),
})

const rewind = defineCommand({
  name: 'rewind',
  summary: 'Undo a message and everything after it, to send it again in other words',
  words: '<agent> [message]',
  maxWords: 2,
  details: [
    'Undoes the last message to the agent, or the one you name: libero agents show prints the names after the dates, and the beginning of an id is enough. The text of the message goes to stdout. Files are not changed; libero agents rollback restores them.',
  ],
  flags: { yes, json: { type: 'boolean', says: 'Print one JSON object: { agentId, messageId, content, removed }' } },
  examples: [
    { line: 'libero agents rewind bafitu', says: 'Asks, then undoes the last message' },
    { line: 'libero agents rewind bafitu 3f2a1b-7 --yes > said.txt', says: 'To edit it and send it again' },
  ],
  run: async (given, io) => (await import('../agents/rewind.ts')).rewind(given, io),
})

const rollback = defineCommand({
  name: 'rollback',
  summary: 'Restore files to their state before a message to an agent',
  words: '<agent> [message]',
  maxWords: 2,
  details: [
    'Undoes the changes in this folder that were made while the agent worked on that message and on later ones; the conversation is kept. Files that were changed otherwise since then are kept and listed. Run it in the folder where the agent worked.',
    'Snapshots are taken before and after each message, if one of your definitions can change files: it has the plugin zx-script, or MCP servers, including those of your settings. They are stored in ~/.libero/snapshots; the folder need not be a repository, and a repository is not changed. In a folder of a few thousand files this takes some tenths of a second per message. Without such a definition, or without git, no snapshots are taken; see also the setting "snapshots".',
  ],
  flags: {
    plan: { type: 'boolean', says: 'Only show what would be done' },
    force: { type: 'boolean', says: 'Overwrite later changes too, and roll back work that was cut off' },
    undo: { type: 'boolean', says: 'Undo a rollback, including what --force overwrote' },
    yes,
    json: { type: 'boolean', says: 'Print one JSON object: restored and deleted files, conflicts, failures' },
  },
  examples: [
    { line: 'libero agents rollback bafitu --plan', says: 'The files that the last message changed' },
    {
      line: 'libero agents rollback bafitu 3f2a1b-7',
      says: 'Asks, then restores the files as they were before that message',
    },
  ],
  run: async (given, io) => (await import('../agents/rollback.ts')).rollback(given, io),
})

const close = defineCommand({
  name: 'close',
  summary: 'Close agents: schedules no longer wake them, and their conversations are kept',
  words: '<agent>…',
  details: ['An agent that is working, also in another process, is stopped first.'],
  examples: [{ line: 'libero agents close bafitu', says: 'Its schedules are removed too' }],
  run: async (given, io) => (await import('../agents/close.ts')).close(given, io),
})

const remove = defineCommand({
  name: 'delete',
  summary: 'Delete agents with their conversations',
  words: '<agent>…',
  details: [
    'An agent that is working, also in another process, is stopped first. Its schedules, snapshots of files and grants for its session go with it.',
  ],
  flags: { yes },
  examples: [{ line: 'libero agents delete bafitu', says: 'Asks, then deletes it' }],
  run: async (given, io) => (await import('../agents/close.ts')).remove(given, io),
})

export const command = defineCommand({
  name: 'agents',
  summary: 'Create persistent agents, send them messages, answer and watch them',
  details: [
    'An agent is a persistent conversation: it is created from a definition, accepts messages from any folder, and can be woken by schedules (libero schedules). Name it by its id, by a unique beginning of the id, or by its name. Agents belong to you, not to a folder: your settings apply to them as to libero run, settings of a project do not; their tools and prompts come from their definitions. They can use the wikis that the setting "wikis" names: libero config set wikis.notes \'{"folder": "~/notes"}\'.',
  ],
  examples: [
    {
      line: 'libero agents new assistant "remind me in 10 minutes to stretch"',
      says: 'Creates one and sends it a message',
    },
    { line: 'libero agents', says: 'Their status and open questions' },
    { line: 'libero agents send bafitu "thank you"', says: 'Continues its conversation' },
  ],
  commands: [list, definitions, create, send, answer, show, watch, cancel, rewind, rollback, close, remove],
  defaultCommand: 'list',
})
