import type { Meta } from '../core/meta.ts'

/** The `meta` of the turns that a `!` line adds: the command that the person typed. */
export interface ShellLineMeta extends Meta {
  readonly shellLine: string
}

/** Whether a turn is a `!` line or its output, which wait for no answer. */
export const isShellLine = ({ meta }: { readonly meta?: Meta }): boolean => typeof meta?.shellLine === 'string'
