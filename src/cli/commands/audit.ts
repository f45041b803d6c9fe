import { defineCommand } from '../command.ts'

const list = defineCommand({
  name: 'list',
  summary: 'List the calls of tools that were decided about, the newest last',
  flags: {
    session: { type: 'string', value: 'id', says: 'Those of a session or an agent, by the beginning of its id' },
    tool: { type: 'string', value: 'name', says: 'Those of this tool' },
    decision: { type: 'string', choices: ['allow', 'ask', 'deny'], says: 'Those that were decided about so' },
    since: { type: 'string', value: 'time', says: 'Not those before: 30m, 2h, 7d or a date' },
    limit: { type: 'string', value: 'n', min: 1, says: 'So many at most (default 50)' },
    json: { type: 'boolean', says: 'Every record as a line of JSON, with arguments, effects and hashes' },
  },
  examples: [
    { line: 'libero audit --decision deny --since 7d', says: 'What was refused this week' },
    { line: 'libero audit --json | jq -r .origin.layer', says: 'Where tools came from, for a script' },
  ],
  run: async (given, io) => (await import('../audit/audit.ts')).list(given, io),
})

const verify = defineCommand({
  name: 'verify',
  summary: 'Say whether every record of the audit is as it was written',
  details: [
    'Each record has the hash of the one before it. One that was changed, or taken out between two others, is named, and this ends with 1. What was cut off at the end of a file, and a file that was deleted whole, leave no trace in it.',
  ],
  run: async (_, io) => (await import('../audit/audit.ts')).verify(io),
})

/** `libero audit`. */
export const command = defineCommand({
  name: 'audit',
  summary: 'Show what agents asked for, who decided about it, and where each tool came from',
  details: [
    'Every command that runs an agent writes down each call before it is made: session, tool and arguments, the layer the tool came from, the rule or the person that decided, and then what became of it. A call that cannot be written down is not made. Secrets are taken out.',
    'The audit lies in ~/.libero/audit, in files of one process each. It is kept for 90 days, and 256 MB of it at most. To keep none: libero config set audit false.',
  ],
  examples: [
    { line: 'libero audit', says: 'The last calls, of all sessions' },
    { line: 'libero audit verify', says: 'Whether it is as it was written' },
  ],
  commands: [list, verify],
  defaultCommand: 'list',
})
