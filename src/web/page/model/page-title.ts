let shown = { count: 0, name: '' }

/** The title of the page: how much waits, and the name of what is shown. Both change by themselves. */
export function changeTitle(changes: Partial<typeof shown>): void {
  shown = { ...shown, ...changes }
  const { count, name } = shown
  document.title = `${count > 0 ? `(${count}) ` : ''}${name === '' ? '' : `${name} · `}Libero`
}
