import { defineCommand } from '../command.ts'

const json = { type: 'boolean', says: 'Print JSON' } as const

const list = defineCommand({
  name: 'list',
  summary: 'List the sessions of this folder, newest first',
  flags: {
    all: { type: 'boolean', short: 'a', says: 'Those of all folders' },
    limit: { type: 'string', short: 'n', value: 'n', min: 1, says: 'At most so many (default 30)' },
    json,
  },
  examples: [
    { line: 'libero sessions', says: 'What was done in this folder' },
    { line: 'libero sessions list --all --json | jq -r .[].id', says: 'The ids of all, for a script' },
  ],
  run: async (given, io) => (await import('../sessions/list.ts')).list(given, io),
})

const show = defineCommand({
  name: 'show',
  summary: 'Show what was said and done in a session',
  words: '<id>',
  maxWords: 1,
  flags: {
    full: { type: 'boolean', says: 'With all of what tools were given and answered' },
    json,
  },
  examples: [{ line: 'libero sessions show bafitu', says: 'The beginning of an id is enough' }],
  run: async (given, io) => (await import('../sessions/show.ts')).show(given, io),
})

const resume = defineCommand({
  name: 'resume',
  summary: 'Go on with a session',
  words: '<id> [task]',
  details: [
    'The same as libero run --resume <id>, which has more flags. Without a task it goes on where the session stands: calls that were allowed meanwhile are made.',
  ],
  flags: {
    fork: { type: 'boolean', says: 'Go on in a copy' },
    unpark: { type: 'boolean', says: 'Try a session again that made its process crash' },
  },
  examples: [{ line: 'libero sessions resume bafitu "now the tests"', says: 'Goes on with a new task' }],
  run: async (given, io) => (await import('../sessions/resume.ts')).resume(given, io),
})

const answer = defineCommand({
  name: 'answer',
  summary: 'Say what a session waits for, or answer it: allow or deny a call, or reply to a question',
  words: '<id> [call] [allow|deny]',
  maxWords: 3,
  details: [
    'A run that needs a permission and finds nobody to ask ends with exit code 3, and its session waits. Without allow or deny this shows what it waits for. The answer is for this once; go on with libero sessions resume.',
  ],
  flags: {
    note: { type: 'string', value: 'text', says: 'What the model is told with it' },
    text: { type: 'string', value: 'text', says: 'The reply to a question that a tool put' },
    json,
  },
  examples: [
    { line: 'libero sessions answer bafitu', says: 'What it waits for' },
    { line: 'libero sessions answer bafitu allow && libero sessions resume bafitu', says: 'Allows it and goes on' },
    { line: 'libero sessions answer bafitu deny --note "use npm ci"', says: 'Refuses it, and says why' },
  ],
  run: async (given, io) => (await import('../sessions/answer.ts')).answer(given, io),
})

const fork = defineCommand({
  name: 'fork',
  summary: 'Make a copy of a session and print its id',
  words: '<id>',
  maxWords: 1,
  flags: {
    at: {
      type: 'string',
      value: 'seq',
      min: 0,
      says: 'Only up to this entry (sessions show --json has their numbers)',
    },
  },
  examples: [{ line: 'libero sessions fork bafitu --at 12', says: 'A copy that knows only the first twelve entries' }],
  run: async (given, io) => (await import('../sessions/resume.ts')).fork(given, io),
})

const exportOne = defineCommand({
  name: 'export',
  summary: 'Write a session as Markdown, as a web page or as JSON Lines',
  words: '<id>',
  maxWords: 1,
  details: [
    'What looks like a secret is taken out. The web page is one file without scripts that loads nothing. JSON Lines can be imported again.',
  ],
  flags: {
    format: {
      type: 'string',
      short: 'f',
      choices: ['jsonl', 'md', 'html'],
      says: 'Default: as the file is called, else md',
    },
    output: { type: 'string', short: 'o', value: 'file', says: 'Write there, not to stdout' },
    force: { type: 'boolean', says: 'Replace a file that is there' },
    'with-secrets': { type: 'boolean', says: 'Take nothing out' },
  },
  examples: [
    { line: 'libero sessions export bafitu -o session.html', says: 'A page to read and to send to somebody' },
    {
      line: 'libero sessions export bafitu -f jsonl --with-secrets -o backup.jsonl',
      says: 'All of it, to import elsewhere',
    },
  ],
  run: async (given, io) => (await import('../sessions/export.ts')).exportOne(given, io),
})

const importOne = defineCommand({
  name: 'import',
  summary: 'Read a session of Libero, Claude Code, Codex or pi, and print its id',
  words: '<file>',
  maxWords: 1,
  details: ['- as the file reads stdin.'],
  flags: {
    from: {
      type: 'string',
      choices: ['libero', 'claude-code', 'codex', 'pi'],
      says: 'Who wrote it (default: it is found out)',
    },
  },
  examples: [
    {
      line: 'libero sessions import ~/.codex/sessions/2026/rollout.jsonl',
      says: 'Goes on here with what was begun there',
    },
  ],
  run: async (given, io) => (await import('../sessions/import.ts')).importOne(given, io),
})

const remove = defineCommand({
  name: 'delete',
  summary: 'Delete sessions, with all that belongs to them',
  words: '<id>…',
  flags: { yes: { type: 'boolean', short: 'y', says: 'Without asking; needed where there is no terminal' } },
  examples: [{ line: 'libero sessions delete bafitu kemola', says: 'Asks, and deletes both' }],
  run: async (given, io) => (await import('../sessions/delete.ts')).remove(given, io),
})

export const command = defineCommand({
  name: 'sessions',
  summary: 'List, show, resume, fork, export, import and delete sessions',
  details: ['A session is named by its id, or by a beginning of it that no other has.'],
  examples: [
    { line: 'libero sessions', says: 'Those of this folder, newest first' },
    { line: 'libero sessions answer bafitu allow', says: 'Says yes to what a run that ended with 3 wanted to do' },
    { line: 'libero sessions export bafitu -o talk.html', says: 'One page to send to somebody' },
  ],
  commands: [list, show, resume, answer, fork, exportOne, importOne, remove],
  defaultCommand: 'list',
})
