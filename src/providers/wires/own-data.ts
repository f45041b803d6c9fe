import type { ProviderData } from '../../core/turn.ts'

/** What a block takes with it for the way back to the service that made it. */
export const withOwn = (wire: string, data: object): { readonly providerData: ProviderData } => ({
  providerData: { [wire]: data },
})

/** What a block brought along for this wire. */
export function ownOf<Own extends object>(wire: string, block: { readonly providerData?: ProviderData }): Partial<Own> {
  return (block.providerData?.[wire] ?? {}) as Partial<Own>
}
