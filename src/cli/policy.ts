import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { explainCommand } from '../authority/rules/explain.ts'
import { loadRulesFile, loadSettings } from '../authority/rules/load-settings.ts'
import { createTrustList } from '../authority/trust/trust-list.ts'
import { AgentError, CodedError } from '../core/errors.ts'
import { fullyVisible } from '../platform/visible-text.ts'

const usage = `usage:
  libero policy explain [--json] [--rules <file>] -- <command>   what would be decided about a shell line, and why
  libero policy test <file>                                      whether its rules do what their own examples say`

/** `libero policy`: decides nothing and runs nothing. Returns the exit code: 0, 1 for examples that fail, 2 where nothing could be told. */
export async function policy(args: readonly string[], io: PolicyIo): Promise<number> {
  try {
    const [verb, ...rest] = args
    if (verb === 'explain') return await explain(rest, io)
    if (verb === 'test') return await testFile(rest, io)
    io.err(verb === undefined ? usage : `libero policy has no "${verb}"\n${usage}`)
  } catch (error) {
    const isExpected = error instanceof AgentError || (error instanceof TypeError && 'code' in error)
    if (!isExpected) throw error
    io.err(error.message)
    if (error instanceof CodedError && error.code === 'RuleTestFailed') return 1
  }
  return 2
}

export interface PolicyIo {
  readonly cwd: string
  /** The user's own folder. Default `~/.libero`. */
  readonly home?: string
  out(line: string): void
  err(line: string): void
}

async function explain(args: readonly string[], io: PolicyIo): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { json: { type: 'boolean' }, rules: { type: 'string' } },
    allowPositionals: true,
  })
  if (positionals.length === 0) {
    io.err(`There is no command to explain\n${usage}`)
    return 2
  }
  const { cwd, home = join(homedir(), '.libero') } = io
  const isTrusted = (await createTrustList({ folder: home }).lookup(cwd))?.decision === 'trusted'
  const layers = values.rules
    ? { launch: await loadRulesFile(values.rules) }
    : await loadSettings({ home, projectRoot: cwd, isTrusted })
  const place = { root: cwd, home: homedir(), isTrusted }
  const explanation = await explainCommand(positionals.join(' '), { layers, place, own: [home] })
  if (values.json) io.out(JSON.stringify(explanation))
  else {
    const { verdict, by, why, effects } = explanation
    io.out(fullyVisible(`${verdict} (${by}): ${why}`))
    io.out(`effects: ${effects.join(', ') || 'none'}`)
  }
  return 0
}

/** A file whose examples fail is refused whole; the message names them. */
async function testFile([path, ...more]: readonly string[], io: PolicyIo): Promise<number> {
  if (path === undefined || more.length > 0) {
    io.err(`policy test takes one file\n${usage}`)
    return 2
  }
  const { allow = [], ask = [], deny = [], allowlist = [] } = await loadRulesFile(path)
  io.out(`${path}: ${[allow, ask, deny, allowlist].flat().length} rules, all as their examples say`)
  return 0
}
