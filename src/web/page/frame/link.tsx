import type { ComponentChildren } from 'preact'
import { usePage } from './page-context.ts'
import { navigate, pathOf, type Route } from './router.ts'

interface LinkProps {
  readonly to: Route
  readonly class?: string
  readonly title?: string
  readonly 'aria-label'?: string
  readonly 'aria-current'?: 'page'
  readonly children: ComponentChildren
}

/** A link to a place of the page. With a modifier key the browser opens it in a new tab, as any link. */
export function Link({ to, children, ...attributes }: LinkProps) {
  const { base } = usePage()
  const go = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return
    event.preventDefault()
    navigate(base, to)
  }
  return (
    <a {...attributes} href={base + pathOf(to)} onClick={go}>
      {children}
    </a>
  )
}
