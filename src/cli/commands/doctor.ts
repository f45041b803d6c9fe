import { defineCommand } from '../command.ts'

export const command = defineCommand({
  name: 'doctor',
  summary: 'Say what works on this machine, and how to mend the rest',
  details: [
    'Each thing is tried, not guessed: a database is written and removed again, a sandbox is built. Nobody but this machine is asked.',
    'Exit code 0 where Libero can work, also if something that can be done without is missing; 1 where it cannot.',
  ],
  flags: { json: { type: 'boolean', says: 'Print JSON' } },
  examples: [
    { line: 'libero doctor', says: 'What is ok, missing or broken, with the command that mends it' },
    { line: 'libero doctor --json', says: 'The same for a program' },
  ],
  run: async ({ values }, io) => (await import('../doctor/doctor.ts')).report(values, io),
})
