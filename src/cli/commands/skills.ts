import { defineCommand } from '../command.ts'

const flags = {
  claude: { type: 'boolean', says: 'Search .claude/skills too' },
  cwd: { type: 'string', value: 'folder', says: 'The folder to look in' },
} as const

const list = defineCommand({
  name: 'list',
  summary: 'List the skills an agent has in this folder, and where each comes from',
  flags: { ...flags, json: { type: 'boolean', says: 'Print one JSON object: { skills, problems, notices }' } },
  examples: [{ line: 'libero skills', says: 'The skills an agent has in this folder' }],
  run: async (given, io) => (await import('../skills/skills.ts')).list(given, io),
})

const show = defineCommand({
  name: 'show',
  summary: 'Show a skill as a model gets it',
  words: '<name>',
  maxWords: 1,
  details: ['Commands in the skill are shown, not run.'],
  flags,
  examples: [{ line: 'libero skills show pdf', says: 'Its description, its instructions, and its files' }],
  run: async (given, io) => (await import('../skills/skills.ts')).show(given, io),
})

const validate = defineCommand({
  name: 'validate',
  summary: 'Check skills against the standard',
  words: '<folder>…',
  details: ['Exit code 1 if there is a problem. An agent may still load such a skill: loading is more lenient.'],
  examples: [{ line: 'libero skills validate .agents/skills/*', says: 'Checks every skill of the project' }],
  run: async (given, io) => (await import('../skills/skills.ts')).validate(given, io),
})

export const command = defineCommand({
  name: 'skills',
  summary: 'List, show and check skills',
  details: [
    'A skill is a folder with a SKILL.md, as described at agentskills.io. Skills are searched for in .agents/skills and .libero/skills of the project, if it is trusted, then in ~/.agents/skills and ~/.libero/skills. Of two skills with the same name, the first is used.',
  ],
  examples: [
    { line: 'libero skills', says: 'The skills an agent has in this folder' },
    { line: 'libero skills validate my-skill', says: 'Whether it conforms to the standard' },
  ],
  commands: [list, show, validate],
  defaultCommand: 'list',
})
