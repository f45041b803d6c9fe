/** Compares a text with a secret, in a time that depends on the length of the given text only. */
export function isSameSecret(given: string, secret: string): boolean {
  const encoder = new TextEncoder()
  const [sent, right] = [encoder.encode(given), encoder.encode(secret)]
  let difference = sent.length ^ right.length
  for (let i = 0; i < sent.length; i++) difference |= sent[i]! ^ right[i % right.length]!
  return difference === 0
}
