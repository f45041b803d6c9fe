import { fullyVisible } from '../../platform/visible-text.ts'
import { createPaint, hasColours } from '../../tui/terminal/paint.ts'
import { exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { type Check, type Diagnosis, diagnose } from './diagnose.ts'
import { diskSpace, docker, git, nodeVersion, ripgrep, sandbox, shell, terminal } from './machine-checks.ts'
import { croner, optionalPackages, tiddlywiki, zx } from './package-checks.ts'
import {
  chosenModel,
  configFiles,
  credentials,
  homeFolder,
  localServers,
  mcpServers,
  sessionStore,
  wikis,
} from './settings-checks.ts'

/** `libero doctor`: reports what works and how to fix the rest. */
export async function doctor({ json = false }: { readonly json?: boolean }, io: Io): Promise<number> {
  const found = await diagnose(checks, io)
  const serious = found.filter(({ isEssential, state }) => isEssential && state === 'broken')
  if (json) io.out(jsonText({ ok: serious.length === 0, checks: found }))
  else for (const line of linesOf(found, serious, io)) io.out(line)
  return serious.length === 0 ? exitCodes.done : exitCodes.error
}

function linesOf(found: readonly Diagnosis[], serious: readonly Diagnosis[], io: Io): string[] {
  const paint = createPaint({ colours: hasColours(io.stdout, io.env) })
  const colours = { ok: paint.green, missing: paint.yellow, broken: paint.red }
  const width = Math.max(...found.map(({ name }) => name.length))
  const lines = found.flatMap(({ name, state, says, fix }) => [
    `${colours[state](state.padEnd(7))}  ${name.padEnd(width)}  ${fullyVisible(says)}`,
    ...(fix === undefined ? [] : [`${' '.repeat(9 + width)}  ${paint.cyan(`→ ${fullyVisible(fix)}`)}`]),
  ])
  return [...lines, '', verdict(found, serious)]
}

function verdict(found: readonly Diagnosis[], serious: readonly Diagnosis[]): string {
  if (serious.length > 0) return `Libero cannot work yet; fix first: ${serious.map(({ name }) => name).join(', ')}`
  const rest = found.filter(({ state }) => state !== 'ok')
  if (rest.length === 0) return 'Everything works.'
  return `Libero works. Optional and not available: ${rest.map(({ name }) => name).join(', ')}.`
}

/** All checks, in the order of the report. */
export const checks: readonly Check[] = [
  nodeVersion,
  homeFolder,
  configFiles,
  sessionStore,
  diskSpace,
  shell,
  credentials,
  localServers,
  chosenModel,
  mcpServers,
  wikis,
  terminal,
  git,
  ripgrep,
  sandbox,
  docker,
  optionalPackages,
  croner,
  tiddlywiki,
  zx,
]
