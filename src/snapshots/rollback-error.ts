import { AgentError } from '../core/errors.ts'

/** A rollback, or its undo, was refused. Nothing was changed. */
export class RollbackRefusedError extends AgentError {
  /**
   * `not_kept`: there is no snapshot of the files from then, or they cannot be written. `cut_off`: a run has no end, or no
   * snapshot after it; `force` overrides it. `nothing_to_undo`: there was no rollback. `went_on`: the conversation has new
   * turns since. `elsewhere`: the files are in another folder. `at_work`: a run or a rollback of the folder is under way.
   */
  readonly code: 'not_kept' | 'cut_off' | 'nothing_to_undo' | 'went_on' | 'elsewhere' | 'at_work'
  constructor(code: RollbackRefusedError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
