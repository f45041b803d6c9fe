import type { FileLocation } from '../platform/files-of.ts'
import type { SecurityMode } from './rules/settings.ts'

/** Tells a person that commands run without a sandbox, why, and what that means in this mode; `undefined` if there is one. */
export async function unconfinedNotice(
  { execution, handle }: FileLocation,
  mode: SecurityMode,
): Promise<string | undefined> {
  if (!execution.capabilities.shell) return undefined
  const { profiles, why } = (await execution.sandbox?.(handle)) ?? { profiles: [] }
  if (profiles.includes('workspace-write')) return undefined
  return `no sandbox: ${why ?? `the execution context "${execution.type}" has none`}; ${meanings[mode]}`
}

const asked = 'commands that are allowed run with all your rights'
const meanings: Readonly<Record<SecurityMode, string>> = {
  plan: 'only single plain commands that read run',
  ask: asked,
  allowlist: asked,
  yolo: 'in the mode yolo, commands run without a question and with all rights of the user',
}
