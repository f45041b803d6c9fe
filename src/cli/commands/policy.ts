import { exitCodes, UsageError } from '../cli-error.ts'
import { defineCommand } from '../command.ts'

const explain = defineCommand({
  name: 'explain',
  summary: 'Show the decision about a shell command, and the reason',
  words: '-- <command>',
  details: ['Runs nothing. Exit code 0 for every decision, 2 if the rules cannot be read.'],
  flags: {
    json: { type: 'boolean', says: 'Print one line of JSON: verdict, by, rule, why, effects' },
    rules: { type: 'string', value: 'file', says: 'Use the rules in this file instead of your settings' },
  },
  examples: [{ line: `libero policy explain -- 'ls; rm x'`, says: 'Which rule or mode would stop it' }],
  async run({ values, words }, io) {
    if (words.length === 0)
      throw new UsageError(`there is no command to explain; write it as in: libero policy explain -- 'ls; rm x'`)
    const { explainCommand } = await import('../../authority/rules/explain.ts')
    const { loadRulesFile } = await import('../../authority/rules/load-settings.ts')
    const { createTrustList } = await import('../../authority/trust/trust-list.ts')
    const { enterProject } = await import('../../authority/trust/enter-project.ts')
    const { cwd, home } = io
    // As in a run: a file that changed since it was trusted is not used.
    const project = await enterProject(cwd, { list: createTrustList({ folder: home }) })
    project.dispose()
    const { mayRead } = project
    const layers = values.rules
      ? { launch: await loadRulesFile(values.rules).catch(asUsageError) }
      : (await (await import('../config/config.ts')).loadConfig({ home, projectRoot: cwd, mayRead })).layers
    const place = { root: cwd, home: io.userHome, isTrusted: project.isTrusted() }
    const explanation = await explainCommand(words.join(' '), { layers, location: place, own: [home] })
    if (values.json) io.out(JSON.stringify(explanation))
    else {
      const { fullyVisible } = await import('../../platform/visible-text.ts')
      const { verdict, by, why, effects } = explanation
      io.out(fullyVisible(`${verdict} (${by}): ${why}`))
      io.out(`effects: ${effects.join(', ') || 'none'}`)
    }
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
    const { allow = [], ask = [], deny = [], allowlist = [] } = await loadRulesFile(path).catch(asUsageError)
    const { visibleName } = await import('../../platform/visible-text.ts')
    io.out(`${visibleName(path)}: ${[allow, ask, deny, allowlist].flat().length} rules, all examples pass`)
    return exitCodes.done
  },
})

/** Rules that cannot be read are a usage error; rules that fail their own examples are a failure. */
async function asUsageError(error: unknown): Promise<never> {
  const { CodedError } = await import('../../core/errors.ts')
  const isFinding = error instanceof CodedError && error.code === 'RuleTestFailed'
  if (!(error instanceof CodedError) || isFinding) throw error
  throw new UsageError(error.sentence, { cause: error })
}

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
