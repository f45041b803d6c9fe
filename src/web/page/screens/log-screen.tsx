/** Comes with the next commits. */
export function LogScreen() {
  return <h1>Log</h1>
}
