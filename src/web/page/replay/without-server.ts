import { type ComponentChildren, createElement } from 'preact'
import { visibleText } from '../libero.ts'
import type { CodeSpan } from '../parts/highlight.ts'

/**
 * What a copy of a session leaves out: whatever asks a server, and the worker that colours code. It takes the place of the
 * modules that `scripts/build-page.ts` names, so that the file stays small.
 */
export const isReplay = true
const nothing = (): null => null

interface LinkProps {
  readonly to: { readonly seq?: number }
  readonly children: ComponentChildren
}

/** The only places of a copy are its entries. */
export const Link = ({ to: { seq }, children, ...attributes }: LinkProps) =>
  createElement('a', { ...attributes, ...(seq !== undefined && { href: `#${seq}` }) }, children)

export const PendingCard = nothing
export const RollbackDialog = nothing
export const QueuedView = nothing
export const CallWhy = nothing
export const createOutbox = nothing
export const sendWithFiles = nothing
/** TiddlyWiki is on the server. */
export const Wikitext = ({ text }: { readonly text: string }) =>
  createElement('pre', { class: 'output' }, visibleText(text))
export const highlight = async (): Promise<readonly CodeSpan[] | undefined> => undefined
