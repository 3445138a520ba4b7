// Search from disk. Browsers start no worker from a file: address, so there the search runs in a
// hidden frame instead. The theme looks for the name IFrameWorker.
(() => {
  class IFrameWorker extends EventTarget {
    constructor(address) {
      super();
      const frame = Object.assign(document.createElement("iframe"), { hidden: true, title: "search" });
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = async (...addresses) => {
        for (const item of addresses) await this.load(item);
      };
      this.ready = this.load(address);
    }

    load(address) {
      const script = this.inside.document.createElement("script");
      script.src = address;
      return new Promise((done, failed) => {
        script.addEventListener("load", done);
        script.addEventListener("error", failed);
        this.inside.document.body.append(script);
      });
    }

    async postMessage(data) {
      await this.ready;
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  }

  if (location.protocol === "file:") {
    window.IFrameWorker = window.Worker = IFrameWorker;
  }
})();
