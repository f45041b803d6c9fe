import { messageOf } from '../core/errors.ts'
import type { SandboxSupport } from '../core/execution.ts'
import type { FileLocation } from '../platform/files-of.ts'
import type { SecurityMode } from './rules/settings.ts'

/** Tells a person that commands run without a sandbox, why, and what that means in this mode; `undefined` if there is one. */
export async function unconfinedNotice(
  { execution, handle }: FileLocation,
  mode: SecurityMode,
): Promise<string | undefined> {
  if (!execution.capabilities.shell) return undefined
  const { profiles, why, isUntried } = await findSandbox({ execution, handle })
  if (profiles.includes('workspace-write')) return undefined
  if (isUntried) return `the sandbox cannot be used now: ${why}; ${meaningsNow[mode]}`
  return `no sandbox: ${why ?? `the execution context "${execution.type}" has none`}; ${meanings[mode]}`
}

/** The sandboxes of an execution context. It may have one if it fails to say so. */
export async function findSandbox({ execution, handle }: FileLocation): Promise<SandboxSupport> {
  if (!execution.sandbox) return { profiles: [], why: `the execution context "${execution.type}" has none` }
  return execution.sandbox(handle).catch((error) => ({ profiles: [], why: messageOf(error), isUntried: true }))
}

const asked = 'commands that are allowed run with all your rights'
const meanings: Readonly<Record<SecurityMode, string>> = {
  plan: 'only single plain commands that read run',
  ask: asked,
  allowlist: asked,
  yolo: 'in the mode yolo, commands run without a question and with all rights of the user',
}

/** It is tried again with each command. */
const meaningsNow: Readonly<Record<SecurityMode, string>> = {
  ...meanings,
  yolo: 'as long as that is so, commands are asked about, or refused if no person can be asked',
}
