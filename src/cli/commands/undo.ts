import { defineCommand } from '../command.ts'

export const command = defineCommand({
  name: 'undo',
  summary: 'Undo the last message of a session and the file changes for it',
  words: '[id]',
  maxWords: 1,
  details: [
    'Without an id, the latest session of this folder. Undoes what happened last: a message, with the answer and the files that were changed for it, or a rewind, a rollback or an undo. So a second undo takes the first one back.',
    'Shows what it would do and asks. Files that you or others changed since stay as they are and are named. More: libero sessions rewind --help.',
  ],
  flags: {
    files: { type: 'boolean', says: 'Only the files of the last message' },
    conversation: { type: 'boolean', says: 'Only the conversation' },
    force: { type: 'boolean', says: 'Restore files too that were changed since; another undo brings those back' },
    'dry-run': { type: 'boolean', says: 'Only show what would be done' },
    yes: { type: 'boolean', short: 'y', says: 'Do not ask for confirmation; required without a terminal' },
    json: { type: 'boolean', says: 'Print JSON' },
  },
  examples: [
    { line: 'libero undo', says: 'Undoes the last message in this folder' },
    { line: 'libero undo --dry-run', says: 'What would be undone' },
  ],
  run: async (given, io) => (await import('../sessions/rewind.ts')).undo(given, io),
})
