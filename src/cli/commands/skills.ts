import { defineCommand } from '../command.ts'

const flags = {
  claude: { type: 'boolean', says: 'Look in .claude/skills too' },
  cwd: { type: 'string', value: 'folder', says: 'Those an agent would have there' },
} as const

const list = defineCommand({
  name: 'list',
  summary: 'List the skills an agent has here, and where each comes from',
  flags: { ...flags, json: { type: 'boolean', says: 'One JSON object on stdout: { skills, problems, notices }' } },
  examples: [{ line: 'libero skills', says: 'What an agent could be told to do here' }],
  run: async (given, io) => (await import('../skills/skills.ts')).list(given, io),
})

const show = defineCommand({
  name: 'show',
  summary: 'Show a skill as a model would get it',
  words: '<name>',
  maxWords: 1,
  details: ['Commands in it are shown as they are written, and not run.'],
  flags,
  examples: [{ line: 'libero skills show pdf', says: 'What it says of itself, its instructions, and its files' }],
  run: async (given, io) => (await import('../skills/skills.ts')).show(given, io),
})

const validate = defineCommand({
  name: 'validate',
  summary: 'Say what the standard has against skills',
  words: '<folder>…',
  details: [
    'Ends with 1 where there is a problem. A skill that has one may still be loaded: an agent is more lenient.',
  ],
  examples: [{ line: 'libero skills validate .agents/skills/*', says: 'Checks every skill of the project' }],
  run: async (given, io) => (await import('../skills/skills.ts')).validate(given, io),
})

export const command = defineCommand({
  name: 'skills',
  summary: 'List, show and check skills',
  details: [
    'A skill is a folder with a SKILL.md, as agentskills.io describes it. They are looked for in .agents/skills and .libero/skills of the project, whose skills are used only once it is trusted, then in ~/.agents/skills and ~/.libero/skills. Of two with the same name, the first counts.',
  ],
  examples: [
    { line: 'libero skills', says: 'Those an agent has here' },
    { line: 'libero skills validate my-skill', says: 'Whether others could use it' },
  ],
  commands: [list, show, validate],
  defaultCommand: 'list',
})
