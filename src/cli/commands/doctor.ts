import { defineCommand } from '../command.ts'

export const command = defineCommand({
  name: 'doctor',
  summary: 'Check what works on this machine, and how to fix the rest',
  details: [
    'Each check tries the real thing: it writes a database and removes it again, it builds a sandbox. No other machine is contacted.',
    'Exit code 0 if Libero can work, even if something optional is missing; 1 if it cannot.',
  ],
  flags: { json: { type: 'boolean', says: 'Print JSON' } },
  examples: [
    { line: 'libero doctor', says: 'What is ok, missing or broken, with the command that fixes it' },
    { line: 'libero doctor --json', says: 'The same as JSON, for a program' },
  ],
  run: async ({ values }, io) => (await import('../doctor/doctor.ts')).doctor(values, io),
})
