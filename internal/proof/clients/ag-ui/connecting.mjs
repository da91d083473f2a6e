// connecting is the stock agent with a connect, which it has none of: this is what its documentation has a page add.
export const connecting = ({ HttpAgent, runHttpRequest, transformHttpEventStream }) => class extends HttpAgent {
  connect(input) {
    return transformHttpEventStream(runHttpRequest(() => this.fetch(`${this.url}/connect`, this.requestInit(input))));
  }
};
