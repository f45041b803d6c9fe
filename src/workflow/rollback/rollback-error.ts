import { AgentError } from '../../core/errors.ts'

/**
 * Why files do not go back. `not_kept`: there are none from before that message. `already_back`: they went back before.
 * `with_another`: they went back with those of an earlier message. `cut_off`: what the last work changed is not known.
 * `nothing_to_undo`: they never went back. With `force`, `already_back` and `cut_off` are no obstacles.
 */
export type RollbackProblem = 'not_kept' | 'already_back' | 'with_another' | 'cut_off' | 'nothing_to_undo'

/** Files cannot be put back, or that cannot be undone. Nothing was changed. */
export class RollbackError extends AgentError {
  readonly code: RollbackProblem
  constructor(code: RollbackProblem, message: string) {
    super(message)
    this.code = code
  }
}
