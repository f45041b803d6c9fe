import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AuthorityOptions } from '../../authority/authority.ts'
import { messageOf } from '../../core/errors.ts'
import type { Confinement } from '../../core/execution.ts'
import type { Run } from '../../core/run.ts'
import type { ConfiguredHook } from '../config/config.ts'
import { type HookAnswer, readHookOutput } from './hook-output.ts'

/** A hook, and whose it is. */
export interface OwnedHook extends ConfiguredHook {
  readonly from: 'user' | 'project'
}

/** Where hooks run. */
export interface HookPlace {
  /** The folder that the agent works in. */
  readonly cwd: string
  /** The user's own folder; programs in its `hooks` can be read in the sandbox. */
  readonly home: string
  readonly authority: AuthorityOptions
}

const defaultSeconds = 60
/** More than any answer needs; the rest is dropped. */
const mostOutput = 64 * 1024

/** Runs one hook with JSON on stdin. Never rejects. */
export async function runHook(
  hook: OwnedHook,
  input: object,
  { run, place, takesText = false }: { readonly run: Run; readonly place: HookPlace; readonly takesText?: boolean },
): Promise<HookAnswer> {
  const { execution, handle } = run.host
  if (!execution || !handle) return { block: 'there is no place to run it', isFailure: true }
  const said = { stdout: '', stderr: '' }
  try {
    const confinement = await confinementFor(hook, place, run)
    if (confinement === 'none') return { skipped: 'hooks of a project run only in a sandbox, and there is none' }
    const end = await execution.exec(handle, hook.command, {
      cwd: place.cwd,
      input: JSON.stringify(input),
      timeout: (hook.timeout ?? defaultSeconds) * 1000,
      signal: run.cancellation.signal,
      env: { LIBERO_PROJECT_DIR: place.cwd, CLAUDE_PROJECT_DIR: place.cwd },
      onOutput: (text, from) => void (said[from] = (said[from] + text).slice(0, mostOutput)),
      ...(confinement && { confinement }),
    })
    return readHookOutput({ ...end, ...said }, { takesText })
  } catch (error) {
    return { block: `it could not be run: ${messageOf(error)}`, isFailure: true }
  }
}

/** The sandbox of a hook; undefined for none; `none` if it must have one and there is none: then it does not run. */
async function confinementFor(
  { from, sandbox = true }: OwnedHook,
  { cwd, home, authority }: HookPlace,
  { host: { execution, handle } }: Run,
): Promise<Confinement | undefined | 'none'> {
  if (execution!.type !== 'process') return undefined // a container is one
  if (!sandbox && from === 'user') return undefined
  const support = await execution!.sandbox?.(handle!)
  if (!support?.profiles.includes('workspace-write')) return from === 'user' ? undefined : 'none'
  const [{ resolveSettings }, { workspaceConfinement }] = await Promise.all([
    import('../../authority/rules/settings.ts'),
    import('../../authority/confinement.ts'),
  ])
  const { layers, deny } = authority
  const { rules } = resolveSettings({ ...layers, ...(deny && { launch: { deny } }) })
  const scripts = join(home, 'hooks')
  const isUsers = from === 'user' && existsSync(scripts)
  return workspaceConfinement({ rules, root: cwd, ...(isUsers ? { reads: [scripts] } : { own: [home] }) })
}
