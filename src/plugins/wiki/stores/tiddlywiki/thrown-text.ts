/** The words of whatever was thrown. TiddlyWiki throws texts too, and errors of a realm of its own, which are no `Error` here. */
export function thrownText(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return String(thrown)
  const { name, message } = thrown as { readonly name?: unknown; readonly message?: unknown }
  return [name, message].filter((part) => typeof part === 'string' && part !== '').join(': ') || 'something went wrong'
}
