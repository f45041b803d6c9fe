/** Comes with the next commits. */
export function RulesScreen() {
  return <h1>Rules</h1>
}
