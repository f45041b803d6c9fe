import { exitCodes, UsageError } from '../cli-error.ts'
import { defineCommand } from '../command.ts'
import { runFlags } from './run.ts'

const explain = defineCommand({
  name: 'explain',
  summary: 'Show the decision about a shell command, and the reason',
  words: '-- <command>',
  details: ['Runs nothing. Exit code 0 for every decision, 2 if the rules cannot be read.'],
  flags: {
    json: { type: 'boolean', says: 'Print one line of JSON: verdict, by, rule, why, effects, confinement' },
    mode: { ...runFlags.mode, says: 'As in this approval mode, instead of that of your settings' },
    sandbox: {
      ...runFlags.sandbox,
      says: 'As with this setting, instead of that of your settings: off for no sandbox',
    },
    rules: { type: 'string', value: 'file', says: 'Use the rules in this file instead of your settings' },
  },
  examples: [{ line: `libero policy explain -- 'ls; rm x'`, says: 'Which rule or mode would stop it' }],
  async run({ values, words }, io) {
    if (words.length === 0)
      throw new UsageError(`there is no command to explain; write it as in: libero policy explain -- 'ls; rm x'`)
    const { explainHere, explanationLines } = await import('../policy/explain-here.ts')
    const explained = await explainHere(words.join(' '), io, values)
    if (values.json) io.out(JSON.stringify(explained.explanation))
    else for (const line of explanationLines(explained)) io.out(line)
    if (explained.explanation.verdict !== 'ask') return exitCodes.done
    const { countKeptHere } = await import('../grants/grants.ts')
    const kept = await countKeptHere(io)
    if (kept > 0) io.err(`Kept approvals do not count here; this project has ${kept}: libero grants`)
    return exitCodes.done
  },
})

const test = defineCommand({
  name: 'test',
  summary: 'Test rules against their own examples',
  words: '<file>',
  maxWords: 1,
  details: ['Exit code 1 if an example fails; it is named.'],
  examples: [{ line: 'libero policy test rules.json', says: 'Tries every match and notMatch in the file' }],
  async run({ words: [path] }, io) {
    if (path === undefined) throw new UsageError('policy test takes one file')
    const { loadRulesFile } = await import('../../authority/rules/load-settings.ts')
    const { asUsageError } = await import('../policy/explain-here.ts')
    const { allow = [], ask = [], deny = [], allowlist = [] } = await loadRulesFile(path).catch(asUsageError)
    const { visibleName } = await import('../../platform/visible-text.ts')
    io.out(`${visibleName(path)}: ${[allow, ask, deny, allowlist].flat().length} rules, all examples pass`)
    return exitCodes.done
  },
})

export const command = defineCommand({
  name: 'policy',
  summary: 'Explain the decision about a command, or test rules',
  details: [
    'A file of rules is JSON: { "mode": "ask", "allow": ["shell:git status"], "ask": ["net"], "deny": [{ "rule": "shell:rm", "match": ["rm -rf x"], "notMatch": ["ls"] }] }. Your own are in ~/.libero/authority.json.',
  ],
  examples: [
    { line: `libero policy explain -- 'ls; rm x'`, says: 'Which rule or mode would stop it' },
    { line: 'libero policy test rules.json', says: 'Tries every match and notMatch in the file' },
  ],
  commands: [explain, test],
})
