import { defineCommand, editsFlag } from '../command.ts'

const json = { type: 'boolean', says: 'Print JSON' } as const

const tags = (says: string) => ({ type: 'string', multiple: true, value: 'tag', says }) as const
const yes = { type: 'boolean', short: 'y', says: 'Do not ask for confirmation; required without a terminal' } as const

const list = defineCommand({
  name: 'list',
  summary: 'List the sessions of this folder, newest first',
  details: [
    'With --json: { sessions, next }, the summaries of a page and the cursor of the next one. Agents are listed by libero agents.',
  ],
  flags: {
    all: { type: 'boolean', short: 'a', says: 'Sessions of all folders' },
    status: {
      type: 'string',
      multiple: true,
      choices: ['working', 'waiting', 'interrupted', 'idle', 'failed', 'parked'],
      says: 'Only sessions with this status',
    },
    attention: { type: 'boolean', says: 'Only sessions to continue: interrupted, answered, or with a message' },
    tag: tags('Only sessions with this tag'),
    tenant: { type: 'string', value: 'name', says: 'Only sessions of this tenant' },
    limit: { type: 'string', short: 'n', value: 'n', min: 1, says: 'At most this many (default 30, at most 1000)' },
    cursor: { type: 'string', value: 'next', says: 'The page after the one with this "next"' },
    json,
  },
  examples: [
    { line: 'libero sessions', says: 'The sessions of this folder' },
    { line: 'libero sessions list --all --status waiting', says: 'Those that wait for you' },
    { line: 'libero sessions list --all --json | jq -r .sessions[].id', says: 'Their ids, for a script' },
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
    edits: editsFlag,
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
    {
      line: 'libero sessions answer bafitu allow --edits 1,3 --note "keep the name"',
      says: 'Allows two edits of a multi_edit, and denies the others with a reason',
    },
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

const compare = defineCommand({
  name: 'compare',
  summary: 'What two copies of a session did after the entries that both have',
  words: '<id> <id>',
  maxWords: 2,
  details: [
    'For a fork and its original, or two forks of one session: messages, answers, calls, tokens, cost, time of the runs, and the changes of files, of which the command line takes snapshots.',
  ],
  flags: { json: { type: 'boolean', says: 'Print JSON' } },
  examples: [{ line: 'libero sessions compare bafitu kodelo', says: 'Which of two attempts did what' }],
  run: async (given, io) => (await import('../sessions/compare.ts')).compare(given, io),
})

const goesBack = {
  at: {
    type: 'string',
    value: 'seq',
    min: 0,
    says: 'Back to after this entry (sessions show --json prints the numbers)',
  },
  list: { type: 'boolean', says: 'List the messages to go back to' },
  force: { type: 'boolean', says: 'Restore files too that were changed since; libero undo brings those back' },
  'dry-run': { type: 'boolean', says: 'Only show what would be done' },
  yes,
  json,
} as const

const backDetails = [
  'Before each message and each call that may write, Libero takes a snapshot of the files of the folder, also of those that a command changes. Going back shows what it would do and asks. Files that you or others changed since stay as they are and are named.',
  'Snapshots are stored in ~/.libero/snapshots, not in your repository. Ignored files, files over 10 MB and repositories inside the folder are not in them; see the setting "snapshots". They need git.',
]

const rewind = defineCommand({
  name: 'rewind',
  summary: 'Go back to before a message: the conversation and the files',
  words: '<id> [message]',
  maxWords: 2,
  details: ['The message is a number of --list; without it, the last message.', ...backDetails],
  flags: {
    files: { type: 'boolean', says: 'Only the files' },
    conversation: { type: 'boolean', says: 'Only the conversation' },
    ...goesBack,
  },
  examples: [
    { line: 'libero sessions rewind bafitu', says: 'Undoes the last message and what was done for it' },
    { line: 'libero sessions rewind bafitu 2 --dry-run', says: 'What going back to before the second one would do' },
  ],
  run: async (given, io) => (await import('../sessions/rewind.ts')).rewind(given, io),
})

const rollback = defineCommand({
  name: 'rollback',
  summary: 'Restore the files from before a message; the conversation stays',
  words: '<id> [message]',
  maxWords: 2,
  details: ['The message is a number of --list; without it, the last message.', ...backDetails],
  flags: goesBack,
  examples: [{ line: 'libero sessions rollback bafitu --yes', says: 'Undoes the file changes of the last message' }],
  run: async (given, io) => (await import('../sessions/rewind.ts')).rollback(given, io),
})

const exportOne = defineCommand({
  name: 'export',
  summary: 'Write a session as Markdown, as a web page or as JSON Lines',
  words: '<id>',
  maxWords: 1,
  details: [
    'Text that looks like a secret is redacted. The web page is one file that needs no server and loads nothing; only its own script runs. JSON Lines can be imported again.',
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

const rename = defineCommand({
  name: 'rename',
  summary: 'Set the title of a session',
  words: '<id> <title>',
  examples: [{ line: 'libero sessions rename bafitu "Login page"', says: 'Shown by libero sessions' }],
  run: async (given, io) => (await import('../sessions/details.ts')).rename(given, io),
})

const tag = defineCommand({
  name: 'tag',
  summary: 'Add tags to a session, remove them, or print them',
  words: '<id> [tag…]',
  flags: { remove: { type: 'boolean', short: 'r', says: 'Remove these tags' } },
  examples: [
    { line: 'libero sessions tag bafitu release keep', says: 'Adds two tags' },
    { line: 'libero sessions tag bafitu keep --remove', says: 'Removes one' },
  ],
  run: async (given, io) => (await import('../sessions/details.ts')).tag(given, io),
})

const prune = defineCommand({
  name: 'prune',
  summary: 'Delete old sessions, and data that no session uses',
  details: [
    'Shows what would be deleted and asks. Limits come from the flags, else from the setting "retention", as in: libero config set retention.maxAgeDays 90. With that setting the same happens after a run, at most once a day. Sessions that are working or waiting, have a message or are used by another program stay, and so do open agents.',
  ],
  flags: {
    'older-than': { type: 'string', value: 'age', says: 'Sessions last used longer ago: 12h, 30d, 8w' },
    keep: { type: 'string', value: 'n', min: 0, says: 'Keep this many sessions, those used last' },
    'max-size': { type: 'string', value: 'size', says: 'Keep sessions of this size together: 500MB, 2GB' },
    tag: tags('Only sessions with this tag'),
    'keep-tag': tags('Keep sessions with this tag'),
    'dry-run': { type: 'boolean', says: 'Only show what would be deleted' },
    yes,
    json: { type: 'boolean', says: 'With --dry-run: print JSON' },
  },
  examples: [
    { line: 'libero sessions prune --older-than 90d --keep-tag keep --dry-run', says: 'What would go' },
    { line: 'libero sessions prune --keep 500 --yes', says: 'All but the latest 500' },
  ],
  run: async (given, io) => (await import('../sessions/prune.ts')).prune(given, io),
})

const remove = defineCommand({
  name: 'delete',
  summary: 'Delete sessions with all their data',
  words: '<id>…',
  details: [
    'Deletes the conversation, waiting messages, large results, sub-agents, snapshots of files, and the grants for the session. The audit keeps the decisions about its calls (libero audit).',
  ],
  flags: { yes },
  examples: [{ line: 'libero sessions delete bafitu kemola', says: 'Asks, then deletes both' }],
  run: async (given, io) => (await import('../sessions/delete.ts')).remove(given, io),
})

export const command = defineCommand({
  name: 'sessions',
  summary: 'List, show, resume, rewind, name, fork, compare, export, import and delete sessions',
  details: ['Name a session by its id, or by a unique beginning of the id.'],
  examples: [
    { line: 'libero sessions', says: 'The sessions of this folder, newest first' },
    { line: 'libero sessions answer bafitu allow', says: 'Allows the call of a run that ended with exit code 3' },
    { line: 'libero sessions export bafitu -o talk.html', says: 'A page to share' },
  ],
  commands: [
    list,
    show,
    resume,
    answer,
    rewind,
    rollback,
    rename,
    tag,
    fork,
    compare,
    exportOne,
    importOne,
    remove,
    prune,
  ],
  defaultCommand: 'list',
})
