/** Comes with the next commits. */
export function SessionScreen() {
  return <h1>Session</h1>
}
