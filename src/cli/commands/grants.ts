import { defineCommand } from '../command.ts'

const everywhere = { type: 'boolean', says: 'Those of every project' } as const

const list = defineCommand({
  name: 'list',
  summary: 'List the approvals that are kept for this project',
  flags: { all: everywhere, json: { type: 'boolean', says: 'Print a JSON array' } },
  examples: [
    { line: 'libero grants', says: 'What is allowed here without a question, and where it runs' },
    { line: 'libero grants --all', says: 'The same in every project' },
  ],
  run: async (given, io) => (await import('../grants/grants.ts')).list(given, io),
})

const revoke = defineCommand({
  name: 'revoke',
  summary: 'Revoke approvals, also in running programs',
  words: '[id]…',
  details: ['An id may be shortened. The next call that the approval covered needs a new one.'],
  flags: { all: { type: 'boolean', says: 'Revoke all of them, in every project' } },
  examples: [
    { line: 'libero grants revoke 3f2a', says: 'Revokes one' },
    { line: 'libero grants revoke --all', says: 'Revokes all, in every project' },
  ],
  run: async (given, io) => (await import('../grants/grants.ts')).revoke(given, io),
})

export const command = defineCommand({
  name: 'grants',
  summary: 'List and revoke the approvals that are kept',
  details: [
    'An approval is kept if you answered a prompt with "in this session" or "always". It counts in its project alone, and its commands run where it says. What shall count everywhere is a rule: see libero policy.',
  ],
  examples: [
    { line: 'libero grants', says: 'What is allowed in this project without a question' },
    { line: 'libero grants revoke 3f2a', says: 'Revokes one' },
  ],
  commands: [list, revoke],
  defaultCommand: 'list',
})
