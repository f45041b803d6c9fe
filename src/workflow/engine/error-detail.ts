import { messageOf } from '../../core/errors.ts'

/** What a message of role `error` says of what was thrown. */
export const errorDetailOf = (error: unknown): { readonly name: string; readonly message: string } => ({
  name: error instanceof Error ? error.name : 'Error',
  message: messageOf(error),
})
