import type { AuthorityOptions } from '../../authority/authority.ts'
import { resolveSettings } from '../../authority/rules/settings.ts'
import { unconfinedNotice } from '../../authority/unconfined-notice.ts'
import type { ExecutionContext } from '../../core/execution.ts'
import type { Config } from '../config/config.ts'

/** The words for a person about the sandbox for commands. */
export interface SandboxStatus {
  /** What enforces it, such as `bubblewrap`. */
  readonly by?: string
  /** Why there is none, and what that means. */
  readonly notice?: string
}

/**
 * Finds the sandbox where a person reads about it, and in `yolo`, which runs commands without a question even if there is
 * none. Other runs find it with their first command: trying it takes longer than starting.
 */
export async function sandboxStatus(
  execution: ExecutionContext,
  { layers, mode: chosen, interactors = [] }: AuthorityOptions,
  setting: Config['sandbox'],
): Promise<SandboxStatus> {
  if (execution.type !== 'process') return { by: execution.type }
  const { mode } = resolveSettings({ ...layers, ...(chosen && { launch: { mode: chosen } }) })
  if (interactors.length === 0 && mode !== 'yolo' && setting !== 'off') return {}
  const handle = await execution.spawn()
  try {
    const notice = await unconfinedNotice({ execution, handle }, mode)
    return notice === undefined ? { by: (await execution.sandbox?.(handle))?.by ?? execution.type } : { notice }
  } finally {
    await execution.destroy(handle)
  }
}

/** For the line about the model. */
export const statusText = ({ by }: SandboxStatus): string => (by === undefined ? '' : ` · sandbox: ${by}`)
