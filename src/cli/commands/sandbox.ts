import { defineCommand } from '../command.ts'
import { runFlags } from './run.ts'

export const command = defineCommand({
  name: 'sandbox',
  summary: 'Show what commands can read, write and reach in this folder',
  words: '[-- <command>]',
  details: [
    'A command that no person was asked about runs in a sandbox: read-only if it only reads, else workspace-write. This lists what exists in the sandbox of one command; without one, of ls. Runs nothing.',
  ],
  flags: {
    mode: { ...runFlags.mode, says: 'As in this approval mode, instead of that of your settings' },
    json: { type: 'boolean', says: 'Print JSON' },
  },
  examples: [
    { line: 'libero sandbox', says: 'Whether there is a sandbox, and what is visible in it' },
    { line: `libero sandbox --mode yolo -- 'npm test'`, says: 'The same for this command in another mode' },
  ],
  run: async (given, io) => (await import('../policy/show-sandbox.ts')).showSandbox(given, io),
})
