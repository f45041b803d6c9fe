import type { InteractionKind, InteractionRequest, InteractionResponse } from '../../core/interaction.ts'

/** What happens to a question when nobody is there: `halt` leaves it unanswered, `yolo` says yes to nearly everything. */
export type Headless = 'halt' | 'yolo'

/** The answer that `yolo` gives when nobody is there. None to whether a project is trusted: only a person can say that. */
export function yoloAnswer(
  kind: InteractionKind,
  payload: InteractionRequest['payload'],
): InteractionResponse | undefined {
  switch (kind) {
    case 'Approve':
    case 'Confirm':
    case 'grantStageTool':
      return { status: 'accepted', value: true }
    case 'Select':
      return { status: 'accepted', value: (payload.options as readonly unknown[])[0] ?? null }
    case 'Ask':
      return { status: 'accepted', value: '' }
    case 'Auth.DeviceCode':
    case 'Auth.Password':
      return { status: 'accepted', value: null }
    case 'trustProject':
      return undefined
  }
}

/** What a program is told that runs where nobody can be asked. */
export interface PermissionRequired {
  readonly kind: 'permission-required'
  readonly requestKind: InteractionKind
  readonly correlationId: string
  readonly hint: string
}

/** The same for every kind of question: what is missing, and what to do about it. */
export function permissionRequired(requestKind: InteractionKind, correlationId: string): PermissionRequired {
  const hint =
    requestKind === 'trustProject'
      ? 'nobody is there to say whether this project is trusted; trust it beforehand, or run where somebody can be asked'
      : `nobody is there to answer a question of kind ${requestKind}; attach an interactor, answer it from another process, or allow it by a rule`
  return { kind: 'permission-required', requestKind, correlationId, hint }
}
