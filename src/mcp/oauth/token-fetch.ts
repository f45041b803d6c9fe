/** A fetch for token endpoints. Some write `null` for what they do not give, and leave out what everybody knows. */
export function tokenFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (!response.ok) return response
    const text = await response.text()
    const { status, statusText, headers } = response
    return new Response(mended(text), { status, statusText, headers })
  }
}

function mended(text: string): string {
  try {
    const answer: unknown = JSON.parse(text)
    if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return text
    const given = Object.entries(answer).filter(([, value]) => value !== null)
    return JSON.stringify({ token_type: 'Bearer', ...Object.fromEntries(given) })
  } catch {
    return text // whoever reads it says what is wrong with it
  }
}
