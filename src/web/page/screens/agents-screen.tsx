/** Comes with the next commits. */
export function AgentsScreen() {
  return <h1>Agents</h1>
}
