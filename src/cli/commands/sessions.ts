import { defineCommand } from '../command.ts'

const json = { type: 'boolean', says: 'Print JSON' } as const

const list = defineCommand({
  name: 'list',
  summary: 'List the sessions of this folder, newest first',
  flags: {
    all: { type: 'boolean', short: 'a', says: 'Sessions of all folders' },
    limit: { type: 'string', short: 'n', value: 'n', min: 1, says: 'At most this many (default 30)' },
    json,
  },
  examples: [
    { line: 'libero sessions', says: 'The sessions of this folder' },
    { line: 'libero sessions list --all --json | jq -r .[].id', says: 'All ids, for a script' },
  ],
  run: async (given, io) => (await import('../sessions/list.ts')).list(given, io),
})

const show = defineCommand({
  name: 'show',
  summary: 'Show the conversation and the tool calls of a session',
  words: '<id>',
  maxWords: 1,
  flags: {
    full: { type: 'boolean', says: 'Show arguments and results of tools in full' },
    json,
  },
  examples: [{ line: 'libero sessions show bafitu', says: 'The beginning of an id is enough' }],
  run: async (given, io) => (await import('../sessions/show.ts')).show(given, io),
})

const resume = defineCommand({
  name: 'resume',
  summary: 'Continue a session',
  words: '<id> [task]',
  details: [
    'The same as libero run --resume <id>, which has more flags. Without a task the session continues where it stopped: calls that were allowed meanwhile are made.',
  ],
  flags: {
    fork: { type: 'boolean', says: 'Continue in a copy' },
    unpark: { type: 'boolean', says: 'Retry a session that crashed its process' },
  },
  examples: [{ line: 'libero sessions resume bafitu "now the tests"', says: 'Continues with a new task' }],
  run: async (given, io) => (await import('../sessions/resume.ts')).resume(given, io),
})

const answer = defineCommand({
  name: 'answer',
  summary: 'Show what a session waits for, or answer it: allow or deny a call, or reply to a question',
  words: '<id> [call] [allow|deny]',
  maxWords: 3,
  details: [
    'A run that needs an approval and has no person to ask ends with exit code 3, and its session waits. Without allow or deny this command shows what the session waits for. The answer applies to this one call; continue with libero sessions resume.',
  ],
  flags: {
    note: { type: 'string', value: 'text', says: 'A note to the model with the answer' },
    text: { type: 'string', value: 'text', says: 'The reply to a question of a tool' },
    json,
  },
  examples: [
    { line: 'libero sessions answer bafitu', says: 'What it waits for' },
    {
      line: 'libero sessions answer bafitu allow && libero sessions resume bafitu',
      says: 'Allows the call and continues',
    },
    { line: 'libero sessions answer bafitu deny --note "use npm ci"', says: 'Denies the call, with a reason' },
  ],
  run: async (given, io) => (await import('../sessions/answer.ts')).answer(given, io),
})

const fork = defineCommand({
  name: 'fork',
  summary: 'Copy a session and print the id of the copy',
  words: '<id>',
  maxWords: 1,
  flags: {
    at: {
      type: 'string',
      value: 'seq',
      min: 0,
      says: 'Copy only up to this entry (sessions show --json prints the numbers)',
    },
  },
  examples: [{ line: 'libero sessions fork bafitu --at 12', says: 'A copy of the first twelve entries' }],
  run: async (given, io) => (await import('../sessions/resume.ts')).fork(given, io),
})

const exportOne = defineCommand({
  name: 'export',
  summary: 'Write a session as Markdown, as a web page or as JSON Lines',
  words: '<id>',
  maxWords: 1,
  details: [
    'Text that looks like a secret is redacted. The web page is one file without scripts that loads nothing. JSON Lines can be imported again.',
  ],
  flags: {
    format: {
      type: 'string',
      short: 'f',
      choices: ['jsonl', 'md', 'html'],
      says: 'Default: by the name of the file, else md',
    },
    output: { type: 'string', short: 'o', value: 'file', says: 'Write to this file instead of stdout' },
    force: { type: 'boolean', says: 'Overwrite an existing file' },
    'with-secrets': { type: 'boolean', says: 'Do not redact secrets' },
  },
  examples: [
    { line: 'libero sessions export bafitu -o session.html', says: 'A page to read and to share' },
    {
      line: 'libero sessions export bafitu -f jsonl --with-secrets -o backup.jsonl',
      says: 'The complete session, to import elsewhere',
    },
  ],
  run: async (given, io) => (await import('../sessions/export.ts')).exportOne(given, io),
})

const importOne = defineCommand({
  name: 'import',
  summary: 'Read a session of Libero, Claude Code, Codex or pi, and print its id',
  words: '<file>',
  maxWords: 1,
  details: ['Use - as the file to read stdin.'],
  flags: {
    from: {
      type: 'string',
      choices: ['libero', 'claude-code', 'codex', 'pi'],
      says: 'The program that wrote the file (default: detected)',
    },
  },
  examples: [
    {
      line: 'libero sessions import ~/.codex/sessions/2026/rollout.jsonl',
      says: 'Continue a session of Codex in Libero',
    },
  ],
  run: async (given, io) => (await import('../sessions/import.ts')).importOne(given, io),
})

const remove = defineCommand({
  name: 'delete',
  summary: 'Delete sessions with all their data',
  words: '<id>…',
  flags: { yes: { type: 'boolean', short: 'y', says: 'Do not ask for confirmation; required without a terminal' } },
  examples: [{ line: 'libero sessions delete bafitu kemola', says: 'Asks, then deletes both' }],
  run: async (given, io) => (await import('../sessions/delete.ts')).remove(given, io),
})

export const command = defineCommand({
  name: 'sessions',
  summary: 'List, show, resume, fork, export, import and delete sessions',
  details: ['Name a session by its id, or by a unique beginning of the id.'],
  examples: [
    { line: 'libero sessions', says: 'The sessions of this folder, newest first' },
    { line: 'libero sessions answer bafitu allow', says: 'Allows the call of a run that ended with exit code 3' },
    { line: 'libero sessions export bafitu -o talk.html', says: 'A page to share' },
  ],
  commands: [list, show, resume, answer, fork, exportOne, importOne, remove],
  defaultCommand: 'list',
})
