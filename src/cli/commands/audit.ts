import { defineCommand } from '../command.ts'

const list = defineCommand({
  name: 'list',
  summary: 'List the decisions about tool calls, the newest last',
  flags: {
    session: { type: 'string', value: 'id', says: 'Only calls of this session or agent, by the beginning of its id' },
    tool: { type: 'string', value: 'name', says: 'Only calls of this tool' },
    decision: { type: 'string', choices: ['allow', 'ask', 'deny'], says: 'Only calls with this decision' },
    since: { type: 'string', value: 'time', says: 'Only calls since then: 30m, 2h, 7d or a date' },
    limit: {
      type: 'string',
      value: 'n',
      min: 1,
      says: 'At most the latest this many: calls (default 50) or, with --json, records (default all)',
    },
    json: { type: 'boolean', says: 'Print every record as a line of JSON, with arguments, effects and hashes' },
  },
  examples: [
    { line: 'libero audit --decision deny --since 7d', says: 'Calls denied this week' },
    { line: 'libero audit --json | jq -r .origin.layer', says: 'Where tools came from, for a script' },
  ],
  run: async (given, io) => (await import('../audit/audit.ts')).list(given, io),
})

const verify = defineCommand({
  name: 'verify',
  summary: 'Check that no audit record was changed',
  details: [
    'Each record contains the hash of the record before it. A record that was changed, or removed between two others, is reported with exit code 1. Records cut off at the end of a file, and whole files that were deleted, cannot be detected.',
  ],
  run: async (_, io) => (await import('../audit/audit.ts')).verify(io),
})

/** `libero audit`. */
export const command = defineCommand({
  name: 'audit',
  summary: 'Show which calls agents asked for, who decided, and where each tool came from',
  details: [
    'Every command that runs an agent records each tool call before it is made: session, tool and arguments, the layer the tool came from, the rule or the person that decided, and then the outcome. A call that cannot be recorded is not made. Secrets are redacted.',
    'The audit is stored in ~/.libero/audit, with separate files for each process. It is kept for 90 days and up to 256 MB, or as the settings retention.auditDays and retention.auditSize say. To turn it off: libero config set audit false.',
  ],
  examples: [
    { line: 'libero audit', says: 'The latest calls of all sessions' },
    { line: 'libero audit verify', says: 'Whether a record was changed' },
  ],
  commands: [list, verify],
  defaultCommand: 'list',
})
