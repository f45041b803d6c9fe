/** Comes with the next commits. */
export function NewSessionScreen() {
  return <h1>NewSession</h1>
}
