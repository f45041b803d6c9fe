/** Comes with the next commits. */
export function AgentScreen() {
  return <h1>Agent</h1>
}
