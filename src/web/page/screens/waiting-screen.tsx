/** Comes with the next commits. */
export function WaitingScreen() {
  return <h1>Waiting</h1>
}
