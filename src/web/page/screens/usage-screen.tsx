/** Comes with the next commits. */
export function UsageScreen() {
  return <h1>Usage</h1>
}
