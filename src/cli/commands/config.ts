import { defineCommand } from '../command.ts'

export const command = defineCommand({
  name: 'config',
  summary: 'Show or change settings',
  details: [
    'Settings are read from config.json in your own folder (~/.libero) and from .libero/config.json of a project you trust; a project can only make settings stricter. Flags override both.',
    'Keys are not settings: libero login stores them, or they come from the environment.',
  ],
  defaultCommand: 'show',
  commands: [
    defineCommand({
      name: 'show',
      summary: 'Show every setting, and where it comes from',
      flags: { json: { type: 'boolean', says: 'Print JSON' } },
      run: async ({ values }, io) => (await import('../config/show.ts')).showConfig(values, io),
    }),
    defineCommand({
      name: 'get',
      summary: 'Print one setting; exit code 1 if it is not set',
      words: '<key>',
      maxWords: 1,
      run: async ({ words }, io) => (await import('../config/show.ts')).printSetting(words[0], io),
    }),
    defineCommand({
      name: 'set',
      summary: 'Change a setting in your own config.json',
      words: '<key> <value>',
      details: ['A value is JSON or plain text. A list can be given as several words.'],
      examples: [
        {
          line: 'libero config set model anthropic/claude-sonnet-4-5',
          says: 'The model to use by default',
        },
        { line: 'libero config set maxCost 2', says: 'A run stops before it costs more than two dollars' },
      ],
      run: async ({ words }, io) => (await import('../config/change.ts')).setSetting(words, io),
    }),
    defineCommand({
      name: 'unset',
      summary: 'Remove a setting from your own config.json',
      words: '<key>',
      maxWords: 1,
      run: async ({ words }, io) => (await import('../config/change.ts')).unsetSetting(words[0], io),
    }),
    defineCommand({
      name: 'path',
      summary: 'Print the path of your own config.json',
      run: async (_, io) => (await import('../config/show.ts')).printPath(io),
    }),
  ],
  examples: [
    { line: 'libero config', says: 'The settings in this folder, and which file sets each' },
    { line: 'libero config set model anthropic/claude-sonnet-4-5', says: 'The model for every run' },
    { line: 'libero config set deny net "shell:git push"', says: 'A list, given as several words' },
    {
      line: `libero config set providers.mine '{"baseURL": "http://127.0.0.1:8000/v1", "model": "m"}'`,
      says: 'A server of your own, for --provider mine',
    },
    { line: 'libero config unset maxCost', says: 'Back to the default' },
  ],
})
