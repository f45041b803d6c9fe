import { CodedError } from '../core/errors.ts'
import type { Authority, AuthorityParts } from './authority.ts'
import { type SecurityMode, securityModes } from './rules/settings.ts'

interface ModeCell {
  get(): SecurityMode
  set(mode: SecurityMode): void
}

/** `setMode` of an authority. Of several changes the last one counts, however long the records of others take. */
export function createModeSetter(
  { audit, beforeYolo }: Pick<AuthorityParts, 'audit' | 'beforeYolo'>,
  cell: ModeCell,
): Authority['setMode'] {
  let changes = 0
  return async (mode, { by, sessionId, allowYolo }) => {
    if (!securityModes.includes(mode))
      throw new CodedError(
        'Validation/InvalidMode',
        `there is no mode "${String(mode)}"; the modes are ${securityModes.join(', ')}`,
      )
    if (mode === 'yolo' && !allowYolo)
      throw new CodedError('Validation/YoloNotAllowed', 'the mode yolo has to be chosen by name: pass allowYolo: true')
    const change = ++changes
    const from = cell.get()
    if (mode === from) return
    const isLooser = securityModes.indexOf(mode) > securityModes.indexOf(from)
    if (!isLooser) cell.set(mode)
    await audit.write({
      class: 'Approval',
      event: 'ModeChanged',
      approver: by,
      ...(sessionId !== undefined && { sessionId }),
      details: { from, to: mode },
    })
    if (!isLooser || change !== changes) return
    if (mode === 'yolo') for (const prepare of beforeYolo) await prepare()
    if (change === changes) cell.set(mode)
  }
}
