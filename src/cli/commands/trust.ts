import { defineCommand } from '../command.ts'

export const command = defineCommand({
  name: 'trust',
  summary: 'Decide whether to trust a project’s tools, skills, servers, settings and instructions',
  words: '[folder]',
  maxWords: 1,
  details: [
    'A project can run programs with your permissions and influence the model: its tools, skills, MCP servers, settings and instructions are used only if you trust it. In a terminal you are asked when you first work in it, and by this command.',
    'Without a terminal, read the files of the project, then trust exactly what you read by its digest. Files that change afterwards are not used until you trust them again.',
  ],
  flags: {
    digest: { type: 'string', value: 'digest', says: 'Trust the project if this is its digest' },
    revoke: { type: 'boolean', says: 'Revoke the trust, also in running programs' },
    list: { type: 'boolean', says: 'List all decisions' },
  },
  examples: [
    {
      line: 'libero trust',
      says: 'The files of this project and whether it is trusted; in a terminal, asks whether to trust it',
    },
    { line: 'libero trust --digest 3f…', says: 'Trusts exactly these files' },
    { line: 'libero trust --revoke ../other', says: 'Revokes the trust' },
  ],
  run: async (given, io) => (await import('../trust/trust.ts')).trust(given, io),
})
