/** As itself, inside JSON that is itself a text, inside an address, and inside base64. */
export function spellingsOf(secret: string): string[] {
  const inUrl = secret.isWellFormed() ? [encodeURIComponent(secret)] : []
  return [secret, JSON.stringify(secret).slice(1, -1), ...inUrl, ...inBase64(secret)]
}

/** Shorter ones would be found where they are not meant. */
const shortestInBase64 = 10

/** What base64 makes of a secret, whatever stands before and after it: of each of three places, what depends on it alone. */
function inBase64(secret: string): string[] {
  const binary = Array.from(new TextEncoder().encode(secret), (byte) => String.fromCharCode(byte)).join('')
  const cores = [0, 1, 2].map((before) => {
    const whole = btoa('\0'.repeat(before) + binary).replace(/=+$/, '')
    return whole.slice(before && before + 1, (before + binary.length) % 3 === 0 ? undefined : -1)
  })
  const long = cores.filter((core) => core.length >= shortestInBase64)
  return [...long, ...long.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))]
}
